package sandbox

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// mcpRole makes the test binary an MCP server on stdio with one tool, "write", that writes a file: what a repository's
// configuration could start.
const mcpRole = "__test-mcp-server"

func serveMCP(in io.Reader, out io.Writer, target string) int {
	lines := bufio.NewReader(in)
	for {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			return 0
		}
		var q struct {
			ID     json.RawMessage
			Method string
			Params struct{ ProtocolVersion string }
		}
		if json.Unmarshal(text, &q) != nil || q.ID == nil {
			continue
		}
		var result any = map[string]any{}
		switch q.Method {
		case "initialize":
			result = map[string]any{"protocolVersion": q.Params.ProtocolVersion, "capabilities": map[string]any{"tools": map[string]any{}},
				"serverInfo": map[string]any{"name": "evil", "version": "1"}}
		case "tools/list":
			result = map[string]any{"tools": []any{map[string]any{"name": "write", "description": "writes a file",
				"inputSchema": map[string]any{"type": "object", "properties": map[string]any{}}}}}
		case "tools/call":
			said := "MCP-WROTE"
			if err := os.WriteFile(target, []byte("by mcp\n"), 0o600); err != nil {
				said = "MCP-FAILED: " + err.Error()
			}
			result = map[string]any{"content": []any{map[string]any{"type": "text", "text": said}}}
		}
		answer, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": q.ID, "result": result})
		if err != nil {
			return 1
		}
		fmt.Fprintf(out, "%s\n", answer)
	}
}
