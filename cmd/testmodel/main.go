// Command testmodel serves the scripted model of internal/testmodel on loopback, for a demonstration or for trying something
// by hand. It is a tool for development and is not shipped.
//
//	testmodel -config-file opencode.json &
//	OPENCODE_CONFIG=$PWD/opencode.json opencode run -m mock/worker "say hello [[mock:text]]"
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"opencode-delegate/internal/testmodel"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "testmodel:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("testmodel", flag.ExitOnError)
	addr := flags.String("addr", "127.0.0.1:0", "loopback `address` to listen on")
	addrFile := flags.String("addr-file", "", "write the base URL to `file` once listening")
	configFile := flags.String("config-file", "", "write an opencode.json for this server to `file` once listening")
	logFile := flags.String("log", "", "append a JSON line for each request to `file`")
	list := flags.Bool("list", false, "list the scenarios and stop")
	flags.Parse(args)
	if *list {
		for _, s := range testmodel.Scenarios() {
			fmt.Printf("%-28s %s\n", s.Name, s.Help)
		}
		return nil
	}
	options := testmodel.Options{Addr: *addr}
	if *logFile != "" {
		f, err := os.OpenFile(*logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		options.Log = f
	}
	server, err := testmodel.Start(options)
	if err != nil {
		return err
	}
	defer server.Close()
	for file, text := range map[string][]byte{*addrFile: []byte(server.URL + "\n"), *configFile: server.Config()} {
		if file == "" {
			continue
		}
		if err := publish(file, text); err != nil {
			return err
		}
	}
	fmt.Println(server.URL)
	<-ctx.Done()
	return nil
}

// publish writes a file that a waiting reader never sees half done.
func publish(file string, text []byte) error {
	if err := os.WriteFile(file+".tmp", text, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".tmp", file)
}
