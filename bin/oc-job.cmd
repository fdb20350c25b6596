@echo off
rem Runs the program of this file's name, for cmd.exe and PowerShell; Claude Code on Windows runs the scripts without .cmd. The .cmd files are one
rem text. cmd.exe takes percent signs and carets out of the words that it hands on and ends them at a newline: give a task on stdin.
rem What was built is not built anew when the source changes; remove its directory in LOCALAPPDATA for that.
setlocal
set "name=%~n0"
set "here=%~dp0.."
set "program=%here%\lib\windows-arm64\%name%.exe"
if /i "%PROCESSOR_ARCHITECTURE%"=="ARM64" if exist "%program%" goto run
set "program=%here%\lib\windows-amd64\%name%.exe"
if exist "%program%" goto run
if not exist "%here%\go.mod" goto missing
set "place=%~dp0"
set "place=%LOCALAPPDATA%\opencode-delegate\build\%place::=%"
set "program=%place%%name%.exe"
if exist "%program%" goto run
where go >nul 2>nul || goto missing
echo %name%: building once with Go, which can take a minute>&2
setlocal
set "GO111MODULE=on"
set "GOFLAGS=-mod=readonly"
set "GOWORK=off"
set "CGO_ENABLED=0"
set "GOOS=windows"
set "GOARCH="
pushd "%here%" && go build -trimpath -buildvcs=false -ldflags="-s -w" -o "%place%\" ./cmd/oc-delegate ./cmd/oc-job 1>&2
popd
endlocal
if exist "%program%" goto run
:missing
echo %name%: there is no program for this system: use the release folder of opencode-delegate for it, or install Go 1.26 or newer>&2
if /i "%name%"=="oc-delegate" echo OC_SIGNAL {"status":"USAGE","exit":1,"reason":"there is no program to run","retryable":false,"retry":""}>&2
exit /b 1
:run
endlocal & "%program%" %*
