# shellcheck shell=bash
# The suites of `./dev test`, which sources this file: it has the functions, and what they set.

passed=0 failed=0 summary=()

tally() {  # label, passed, failed
  passed=$((passed + $2)) failed=$((failed + $3))
  summary+=("$(printf '%-34s %5d passed  %3d failed  %s' "$1" "$2" "$3" "$(spent "$took")")")
}

show_failure() {
  printf -- '--- %s\n' "$log"
  # failures in TAP output
  awk '/^ *not ok/ { on = 1 } on { print substr($0, 1, 2000) } /^ *\.\.\.$/ { on = 0 }' "$log" | head -n 100
  # CTest prints the output of a failed test where the test ends, far above the log's end
  awk '/^ *[0-9]+\/[0-9]+ Test .*\*\*\*/ { on = 1; n = 0 } /^ +Start / { on = 0 } on && ++n <= 40 { print substr($0, 1, 400) }' "$log" | head -n 200
  tail -n "${1:-40}" "$log"
  printf -- '---\n'
}

# Prints the last number in the matches of a pattern in the log, e.g. `count 'Tests .*[0-9]+ passed'`.
count() { { sed 's/\x1b\[[0-9;]*m//g' "$log" | grep -oE "$1" | grep -oE '[0-9]+' | tail -n 1; } || true; }

# Records the counts of a tool; a failing status counts as at least one failure.
judge() {  # label, status, passed, failed
  local good=${3:-0} bad=${4:-0}
  if [[ $2 != 0 ]]; then
    ((bad > 0)) || bad=1
    show_failure
  elif ((good == 0)); then
    bad=1
    printf 'dev: %s ran no test at all\n' "$1" >&2
  fi
  tally "$1" "$good" "$bad"
}

test_native() {  # preset [FLAG FOR CTEST…]
  local preset=$1 status=0 results total bad skipped prefix
  shift
  read -ra prefix <<<"$(steady "$preset")"
  step "unit and validation, $preset" parse_tests "ctest_$preset" "${prefix[@]}" ctest --test-dir "build/$preset" --output-on-failure \
    --no-tests=error --parallel "$(jobs)" --output-junit results.xml "$@" || status=$?
  results=build/$preset/results.xml
  attribute() { { grep -oE "^[[:space:]]*$1=\"[0-9]+\"" "$results" | head -n 1 | grep -oE '[0-9]+'; } || echo 0; }
  total=$(attribute tests) bad=$(attribute failures) skipped=$(($(attribute skipped) + $(attribute disabled)))
  judge "unit and validation tests, $preset" "$status" $((total - bad - skipped)) "$bad"
  ((skipped == 0)) || { row "" "$skipped skipped:"; grep -B 1 '<skipped' "$results" | grep -oE ' name="[^"]+"' | head -n 20; }
}

test_viewer() {
  local status=0
  step "viewer tests" parse_last viewer_test npm --prefix web_viewer run test || status=$?
  judge "viewer unit tests" "$status" "$(count 'Tests .*[0-9]+ passed')" "$(count 'Tests +[0-9]+ failed')"
}

test_browser() {
  local status=0
  signal_ahead STOP  # a page that draws slowly cannot be steered
  step "browser tests" parse_last e2e timeout 1500 npm --prefix web_viewer run e2e || status=$?
  signal_ahead CONT
  judge "browser tests, end to end" "$status" "$(count '^(#|ℹ) pass [0-9]+')" "$(count '^(#|ℹ) fail [0-9]+')"
}

# Prints the fuzz targets, one a line: name, maximum number of inputs and seconds without libFuzzer, kind of input.
fuzz_targets() {
  cat <<'END'
scene 50000 1800 scenes
store 100000 600 checkpoints and logs
command 100000 600 commands
file 1000000 20 meshes and robots
gateway 1000000 20 requests and frames
END
}

# Sets `corpus` to the inputs of a fuzz target.
find_corpus() {
  case $1 in
    scene) corpus=(scenes/*.yaml) ;;
    command) corpus=(tests/fuzz/control/corpus) ;;
    file) corpus=(tests/fuzz/files/corpus) ;;
    *) corpus=("tests/fuzz/$1/corpus") ;;
  esac
}

test_fuzz() {  # preset TARGET…
  local preset=$1 status prefix corpus target runs seconds what
  shift
  read -ra prefix <<<"$(steady "$preset")"
  # leak detection needs ptrace, which some containers forbid
  find_corpus "$1"
  if { "${prefix[@]}" "build/$preset/bin/$1_fuzz" "${corpus[@]}" --runs 1 2>&1 || true; } | grep -q 'LeakSanitizer .* fatal error'; then
    row "" "leaks are not detected: this system forbids ptrace"
    export ASAN_OPTIONS=detect_leaks=0
  fi
  while read -r target runs seconds what; do
    [[ " $* " = *" $target "* ]] || continue
    find_corpus "$target"
    status=0
    step "fuzzing $what" parse_last "fuzz_$target" "${prefix[@]}" timeout 2400 "build/$preset/bin/${target}_fuzz" \
      "${corpus[@]}" --runs "$runs" --duration "$seconds" || status=$?
    judge "mutated $what, $preset" "$status" $((status == 0)) 0
  done < <(fuzz_targets)
}

# Runs libFuzzer on each target for 60 s. The inputs that it finds are kept for the next time.
test_libfuzzer() {
  local status corpus target what seeds found
  while read -r target _ _ what; do
    find_corpus "$target"
    seeds=build/libfuzzer/seeds_$target found=build/libfuzzer/found_$target status=0
    rm -rf "$seeds"
    mkdir -p "$seeds" "$found"
    cp -r "${corpus[@]}" "$seeds"
    step "$what, libFuzzer, 60 s" parse_last "libfuzzer_$target" timeout 300 "build/libfuzzer/bin/${target}_fuzz" \
      -max_total_time=60 -max_len=8192 -timeout=20 -rss_limit_mb=2048 "-artifact_prefix=$found/" "$found" "$seeds" || status=$?
    judge "$what under libFuzzer" "$status" $((status == 0)) 0
  done < <(fuzz_targets)
}

# python_packages LABEL NAME MB [LIST [PYTHON]]: installs tests/NAME/requirements.txt, or LIST, into build/NAME_venv; for
# another PYTHON its version is part of the folder's name. Installs again if the list has changed. Sets `venv`.
python_packages() {
  local list=${4:-tests/$2/requirements.txt} python=${5:-python3} name=${2//\//_} key
  [[ -z ${5:-} ]] || name+=_$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  venv=build/${name}_venv
  local stamp=$venv/.dev
  key=$(sha256sum "$list" | cut -c 1-64)-$("$python" --version)
  await_fetching
  [[ ! -f $stamp || $(<"$stamp") != "$key" ]] || return 0
  room_on_disk . "$3"
  # shellcheck disable=SC2016  # for the inner shell
  step "$1" parse_last "${name}_fetch" bash -c '"$3" -m venv --clear "$1" &&
    "$1/bin/pip" install --disable-pip-version-check --progress-bar off --timeout 20 --retries 2 --only-binary :all: -r "$2"' \
    bash "$venv" "$list" "$python" || return 1
  echo "$key" >"$stamp"
}

# Fetches what tests need from npm and PyPI while compilers run. A test that needs a package that could not be fetched
# tries again.
fetching=""
fetch_ahead() {
  local live=0 venv fetching=""
  (viewer) || true
  python_packages "MuJoCo and Drake" oracle 1500 || true
  python_packages "grpcio" reflection 200 || true
  python_packages "MCAP readers" recordings 200 || true
  python_packages "packages of the Python client" clients/python 600 || true
}
await_fetching() {
  local pid=$fetching
  [[ -n $pid ]] || return 0
  fetching=""
  ! kill -0 "$pid" 2>/dev/null || step "fetching packages" parse_none fetch_ahead_rest tail -f --pid="$pid" /dev/null
}

test_oracle() {
  local status=0 ran bad errors skipped
  if ! python_packages "fetching MuJoCo and Drake" oracle 1500; then
    row "" "skipped: robots are not compared with MuJoCo and Drake, which could not be fetched from PyPI:"
    row "" "$({ grep -E '^(ERROR|WARNING|Error|The virtual environment)' "$log" || tail -n 1 "$log"; } | tail -n 1 | cut -c 1-160)"
    row "" "Connect to the network, or put the wheels of tests/oracle/requirements.txt into a folder and set PIP_FIND_LINKS to it; then test again"
    return
  fi
  step "robots in other engines" parse_last oracle env PLIANTD="$PWD/build/release/bin/pliantd" PYTHONDONTWRITEBYTECODE=1 \
    timeout 600 build/oracle_venv/bin/python -W ignore -m unittest discover -v -s tests/oracle -p '*_test.py' || status=$?
  ran=$(count '^Ran [0-9]+ test') skipped=$(count 'skipped=[0-9]+') bad=$(count 'failures=[0-9]+') errors=$(count 'errors=[0-9]+')
  ran=${ran:-0} skipped=${skipped:-0} bad=$((${bad:-0} + ${errors:-0}))
  judge "robots against MuJoCo and Drake" "$status" $((ran > bad + skipped ? ran - bad - skipped : 0)) "$bad"
  ((skipped == 0)) || { row "" "$skipped skipped:"; grep -oE "skipped '.*'" "$log" | sort -u | cut -c 10-150 | head -n 20; }
}

# Tests a client that knows the server by reflection alone.
test_reflection() {
  local status=0
  if ! python_packages "fetching grpcio" reflection 200; then
    row "" "skipped: the client by reflection, because grpcio could not be fetched from PyPI (see $log)"
    return
  fi
  step "client by reflection" parse_last reflection env PLIANTD="$PWD/build/release/bin/pliantd" PYTHONDONTWRITEBYTECODE=1 \
    timeout 300 build/reflection_venv/bin/python -m unittest discover -v -s tests/reflection -p '*_test.py' || status=$?
  judge "client by reflection" "$status" $((status == 0)) 0
}

test_recordings() {
  local status=0 ran bad errors
  if ! python_packages "fetching MCAP readers" recordings 200; then
    row "" "skipped: recordings are not read with the public MCAP library, which could not be fetched from PyPI"
    return
  fi
  step "recordings in MCAP readers" parse_last recordings env PLIANTD="$PWD/build/release/bin/pliantd" PYTHONDONTWRITEBYTECODE=1 \
    timeout 300 build/recordings_venv/bin/python -W ignore -m unittest discover -v -s tests/recordings -p '*_test.py' || status=$?
  ran=$(count '^Ran [0-9]+ test') bad=$(count 'failures=[0-9]+') errors=$(count 'errors=[0-9]+')
  bad=$((${bad:-0} + ${errors:-0}))
  judge "recordings read by the MCAP library" "$status" $((${ran:-0} > bad ? ran - bad : 0)) "$bad"
}

# Prints each Python from 3.9 to 3.13 other than python3: its version, and its path if it is in PATH or pyenv.
other_pythons() {
  local version python
  for version in 3.9 3.10 3.11 3.12 3.13; do
    [[ $(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])') != "$version" ]] || continue
    for python in $(command -v "python$version") "$HOME"/.pyenv/versions/"$version".*/bin/python; do
      if "$python" -c 'import venv, ssl' 2>/dev/null; then echo "$version $python" && continue 2; fi
    done
    echo "$version"
  done
}

# Builds the wheel of the Python client in a virtual environment with its build requirements, and installs it there.
install_python_client() {  # venv
  rm -rf build/clients_python "$1/wheel"
  local pip=("$1/bin/pip" -q --disable-pip-version-check)
  "${pip[@]}" wheel --no-build-isolation --no-deps -w "$1/wheel" clients/python &&
    "${pip[@]}" install --force-reinstall --no-deps "$1"/wheel/pliant-*.whl &&
    "${pip[@]}" install --only-binary :all: "$1"/wheel/pliant-*.whl
}

python_client_tests() {  # venv, pattern, seconds
  install_python_client "$1" || return 1
  PLIANTD="$PWD/build/release/bin/pliantd" PYTHONDONTWRITEBYTECODE=1 timeout "$3" \
    "$1/bin/python" -W ignore -m unittest discover -v -s tests/clients/python -p "$2"
}

test_python_client() {  # label, venv, pattern of the tests, seconds
  local status=0 ran bad errors skipped
  step "$1" parse_last "${2##*/}_test" python_client_tests "$2" "$3" "${4:-900}" || status=$?
  ran=$(count '^Ran [0-9]+ test') bad=$(count 'failures=[0-9]+') errors=$(count 'errors=[0-9]+') skipped=$(count 'skipped=[0-9]+')
  bad=$((${bad:-0} + ${errors:-0})) skipped=${skipped:-0}
  judge "$1" "$status" $((${ran:-0} > bad + skipped ? ran - bad - skipped : 0)) "$bad"
  ((skipped == 0)) || grep -oE "skipped '.*'|skipped \".*\"" "$log" | sort -u | cut -c 10-150 | head -n 20
}

test_python_clients() {  # all: 1 for the long tests, Ray and other Pythons, too
  local venv version python
  if ! python_packages "fetching packages of the Python client" clients/python 600; then
    row "" "skipped: the Python client, because its packages could not be fetched from PyPI (see $log)"
    return
  fi
  test_python_client "Python client" "$venv" '*_test.py'
  [[ $1 = 1 ]] || return 0
  # Ray is large, and has no wheels for some Pythons; its tests are then skipped
  "$venv/bin/python" -c 'import ray' 2>/dev/null || step "fetching Ray" parse_last ray_fetch \
    "$venv/bin/pip" install --disable-pip-version-check --progress-bar off --only-binary :all: 'ray>=2.40,<3' || true
  test_python_client "Python client, long" "$venv" '*_test_long.py' 7200
  test_python_client "Python client on Ray" "$venv" 'rollouts_test.py'
  while read -r version python; do
    if [[ -z $python ]]; then
      row "" "the Python client is not tested with $version, which is not installed"
    elif python_packages "fetching for Python $version" clients/python 300 tests/clients/python/requirements_core.txt "$python"; then
      test_python_client "Python client, Python $version" "$venv" '*_test.py'
    else
      row "" "skipped: the Python client with $version, whose packages could not be fetched from PyPI"
    fi
  done < <(other_pythons)
}

test_proto() {
  local status=0
  step "proto lint" parse_none buf web_viewer/node_modules/.bin/buf lint proto || status=$?
  judge "proto lint" "$status" $((status == 0)) 0
  # tests/proto/contract.binpb is the schema of existing clients: `buf build proto -o … --exclude-source-info`
  status=0
  step "proto compatibility" parse_none buf_breaking web_viewer/node_modules/.bin/buf breaking proto \
    --against tests/proto/contract.binpb || status=$?
  judge "proto compatibility" "$status" $((status == 0)) 0
}

# Builds the image twice, since equal inputs must give equal digests, and runs it as users do.
test_image() {
  local status=0 first
  if ! unshare --mount true 2>/dev/null; then
    row "" "skipped: the image is not built, because this machine does not allow mounting file systems"
    return
  fi
  if ! make_image; then
    if grep -qE "$no_network" "$log"; then
      row "" "skipped: the image is not built, because Debian's packages could not be fetched"
      return
    fi
    if grep -q 'peration not permitted' "$log"; then
      row "" "skipped: the image is not built, because this machine does not permit it (see $log)"
      return
    fi
    judge "image" 1 0 1
    return
  fi
  first=$(digest)
  make_image || status=1
  judge "image, equal digests of two builds" "$status" $(($(digest | grep -cxF "$first"))) $((status != 0))
  status=0
  step "running the image" parse_last image_test env PLIANT_IMAGE_ARCHIVE="$PWD/build/image/pliant-$(version).tar" \
    PLIANT_IMAGE_TAG="localhost/pliant:$(version)" PLIANT="$PWD/build/release/bin/pliant" PYTHONDONTWRITEBYTECODE=1 \
    timeout 900 python3 -m unittest -v tests/image/image_test.py || status=$?
  judge "the image in podman" "$status" "$(grep -cE ' \.\.\. ok$' "$log" || true)" "$(count 'failures=[0-9]+')"
}

finish() {
  printf '\n'
  printf '  %s\n' "${summary[@]}"
  printf '\n'
  bold "$passed passed, $failed failed"
  [[ $failed = 0 ]]
}

built() {  # a failed build counts as a test failure; independent tests still run
  local label=$1
  shift
  "$@" && return 0
  (explain "The $label") || true
  tally "$label" 0 1
  return 1
}

run_tests() {
  local all=0 begun=$EPOCHSECONDS release=1 page=1 preset short=(--label-exclude long) fuzz=(store command)
  case ${1:-} in
    --all) all=1 ;;
    "") ;;
    *) die "test: unknown option '$1'; there is only --all." ;;
  esac
  # sanitizers: with --all their preset is built anyway; otherwise for two targets of few sources, since all that the
  # others link takes ten minutes
  if [[ $all = 1 ]]; then preset=asan fuzz=(scene store command file gateway); else preset=fuzz; fi
  install build viewer test image
  mkdir -p build/log
  fetch_ahead >build/log/fetch_ahead.log 2>&1 </dev/null &
  fetching=$!
  built "release build" build release || release=0
  await_fetching
  built "viewer build" viewer || page=0
  if [[ $release = 1 ]]; then
    if [[ $all = 1 ]]; then test_native release; else test_native release "${short[@]}"; fi
    # most of the following tests leave a processor idle
    build_ahead "$preset" "${fuzz[@]/%/_fuzz}"
    [[ $all = 1 ]] || test_fuzz release scene file gateway
    test_oracle
    test_reflection
    test_recordings
    test_python_clients "$all"
  fi
  if [[ $page = 1 ]]; then
    test_viewer
    test_proto
    [[ $release = 0 ]] || test_browser
    [[ $release = 0 ]] || test_image
  fi
  ! built "fuzz build, $preset" build "$preset" "${fuzz[@]/%/_fuzz}" || test_fuzz "$preset" "${fuzz[@]}"
  if [[ $all = 1 ]]; then
    ! built "libFuzzer build" build libfuzzer {scene,store,command,file,gateway}_fuzz || test_libfuzzer
    export UBSAN_OPTIONS=print_stacktrace=1 LSAN_OPTIONS="suppressions=$PWD/cmake/lsan.supp print_suppressions=0"
    export TSAN_OPTIONS="suppressions=$PWD/cmake/tsan.supp halt_on_error=1 second_deadlock_stack=1 ignore_noninstrumented_modules=1"
    ! built "asan build" build asan || test_native asan "${short[@]}"
    # whole scenes take an hour under the thread sanitizer, and other tests cover their parallel code
    ! built "tsan build" build tsan || test_native tsan "${short[@]}" --exclude-regex '^(scenes|validation)/'
  fi
  summary+=("total: $(spent $((EPOCHSECONDS - begun)))")
  finish
}
