// Package opencode is our side of the opencode program: where its binary is, what that version can do, the environment
// it gets, one supervised run of it, and what its failures mean.
//
// A run has one owner, the loop of [Run]. Only it decides; nobody else stops the process.
//
//	stdout ─▶ spool ─▶ decoder, log ─▶┐             ┌─▶ queue ─▶ emit (the caller's)
//	stderr ─▶ lines, record (clipped) ├──▶ loop ──▶┤
//	context, process, one timer ──────┘    │  ▲    └─▶ process: TERM, grace, KILL
//	                                       ▼  │
//	                                      watch
//
// opencode exits without waiting until its output was read. So nothing that happens to the bytes may hold up the reading:
// the spool takes them off the pipe, and emit has a goroutine and a queue of its own. A caller who blocks delays no
// deadline either. The watch is a pure state machine: it is told events, lines and the time, and answers with a reason
// to stop, or the time when it wants to be asked again.
//
//	starting ──first sign──▶ working ──stop, with an answer──▶ complete ──5 s of silence──▶ stop: success
//	                          │   ▲                              │ a further model call
//	             stream error │   │ text, tool, good step        ▼
//	                          ▼   │                            working
//	                         failing ──retry limit──▶ stop: RUN_FAILED, retryable
//	                          └──names a usage limit, 1.5 s──▶ stop: QUOTA_EXHAUSTED
//
//	any state ── deadline, idle limit ─▶ TIMEOUT     any ── context ─▶ its cause (CANCELLED, INTERRUPTED)
//	second "unknown" finish ─▶ RUN_FAILED            step over a cap, no answer yet ─▶ BUDGET_EXCEEDED
//
// When the process has ended, the verdict is drawn in this order: what we did, how the child ended, error events,
// rejected permissions, opencode's own log, and last how the stream ended. The worker's prose is never looked at.
package opencode
