package proc

// An ID names one process of one boot of this machine; its pid may be used again, the ID is not.
type ID struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`          // in the unit of the system's process table; only compared
	Boot  string `json:"boot,omitempty"` // see Boot
}
