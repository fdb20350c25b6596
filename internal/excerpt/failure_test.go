package excerpt

import "testing"

func TestWhatLooksLikeAFailure(t *testing.T) {
	for text, want := range map[string]strength{
		"main.c:3:5: error: expected ';'":                             strong,
		"error[E0308]: mismatched types":                              strong,
		"src/a.ts(3,5): error TS2304: Cannot find name 'x'.":          weak,
		"ERROR something went wrong":                                  strong,
		"2026-01-02 10:00:00 [ERROR] cannot connect":                  strong,
		"panic: runtime error: index out of range [3] with length 3":  strong,
		"thread 'main' panicked at src/main.rs:2:5:":                  strong,
		"Traceback (most recent call last):":                          strong,
		"ValueError: invalid literal":                                 strong,
		"Exception in thread \"main\" java.lang.NullPointerException": weak,
		"Caused by: java.io.IOException: x":                           strong,
		"/usr/bin/ld: a.o: undefined reference to `f'":                strong,
		"npm ERR! code ELIFECYCLE":                                    strong,
		"E   assert 1 == 2":                                           strong,
		"E is a letter":                                               no,
		"--- FAIL: TestX (0.00s)":                                     strong,
		"FAIL\texample.org/m\t0.1s":                                   strong,
		"not ok 3 - adds":                                             strong,
		"exit status 1":                                               strong,
		"exit status 0":                                               no,
		"Process exited with code 137":                                strong,
		"process exited with code: 0":                                 no,
		"make: *** [Makefile:3: all] Error 2":                         strong,
		"error code 0":                                                no,
		"Segmentation fault (core dumped)":                            strong,
		"fatal: not a git repository":                                 strong,
		"a.out: a.c:4: main: Assertion `x == 1' failed.":              strong,
		"the build failed":                                            weak,
		"3 tests passed, 1 failed":                                    weak,
		"3 tests passed, 0 failed":                                    no,
		"10 failed":                                                   weak,
		"errors: 0":                                                   no,
		"error: 0":                                                    strong, // a value may follow
		"errors: 07":                                                  weak,
		"finished, no data race":                                      no,
		"it raised ValueError at once":                                weak,
		"it is in TheErrorHandler":                                    no,
		"no errors found":                                             no,
		"piano errors found":                                          weak,
		"finished without error":                                      no,
		"cc -Werror -c error_handler.c":                               no,
		"ok      example.org/m/errors 0.1s":                           no,
		"compiling errors.go":                                         no,
		"compiling src/error.go":                                      no,
		"go test --fail-fast":                                         no,
		"terror and failsafe":                                         no,
		"it ended in an error.":                                       weak,
		"bash: foo: command not found":                                weak,
		"connect: connection refused":                                 weak,
		"all good":                                                    no,
		"":                                                            no,
		"error":                                                       weak,
		"FATAL out of luck":                                           strong,
		"FAILED tests/test_a.py::test_x - assert 1 == 2":              strong,
		"failed 0":                                                    no,
		"    fail: x":                                                 strong,
		"WARNING: DATA RACE":                                          strong,
		"exit code -1":                                                strong,
		"exit code 1st":                                               no,
		"Error: Process completed with exit code 2.":                  strong,
	} {
		if got := newLooker().at([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestKeysOfLines(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		equal bool
	}{
		{"10:33:01.123 retry 4 of 0x7ffd12ab", "9:3:1.5 retry 17 of 0x1", true},
		{"[==>     ] 3%", "[=======>] 98%", true},
		{"ok 1", "ok 1b2", true},
		{"ok 1", "ok one", false},
		{"a b", "a c", false},
		{"test 1 passed", "test 2 failed", false},
		{"", "0", false},
	} {
		if got := keyOf([]byte(c.a)) == keyOf([]byte(c.b)); got != c.equal {
			t.Errorf("%q and %q: %v, want %v", c.a, c.b, got, c.equal)
		}
	}
}
