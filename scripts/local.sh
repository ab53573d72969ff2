# shellcheck shell=bash
# What the project installs for itself, and where. Sourced by the other scripts.
#
# Debian packages need root; all else lands in .local/ and peers/node_modules.
# A stamp with the hash of its list says that a set is installed, so the second
# run asks no registry.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
local_folder=$root/.local
mkdir -p "$local_folder"

fail() {
    echo "error: $*" >&2
    exit 1
}

# need PROGRAM WHERE-TO-GET-IT
need() {
    command -v "$1" >/dev/null || fail "\`$1\` is not installed: $2"
}

# debian_packages NAME...: installs those that are missing.
debian_packages() {
    local missing=() name
    for name in "$@"; do
        [[ $(dpkg-query -W -f='${Status}' "$name" 2>/dev/null) == *"ok installed"* ]] || missing+=("$name")
    done
    ((${#missing[@]})) || return 0
    [[ $(id -u) == 0 ]] || fail "Debian packages are missing; as root: apt-get install ${missing[*]}"
    echo "installing Debian packages: ${missing[*]}"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
}

# installed SET FILE...: true if SET was installed from exactly these files.
installed() {
    [[ -f $local_folder/$1.stamp && $(<"$local_folder/$1.stamp") == "$(cat "${@:2}" | sha256sum)" ]]
}

mark_installed() {
    cat "${@:2}" | sha256sum >"$local_folder/$1.stamp"
}

# python_peers v1|v2|s3|beside|rdf: a folder for PYTHONPATH; no virtual environment needed.
python_peers() {
    local set=python-$1 list=$root/peers/python/requirements-$1.txt
    installed "$set" "$list" && [[ -d $local_folder/$set ]] && return 0
    need python3 "the tests drive their clients with it"
    python3 -m pip --version >/dev/null 2>&1 || fail "python3 has no pip: on Debian apt-get install python3-pip"
    echo "installing Python peers ($1)"
    rm -rf "${local_folder:?}/$set"
    python3 -m pip install --quiet --disable-pip-version-check --no-warn-conflicts \
        --root-user-action ignore --only-binary :all: \
        --target "$local_folder/$set" --requirement "$list"
    mark_installed "$set" "$list"
}

# basic_memory_peer: basic-memory in .local/python-basic-memory, run by a Python that is new enough
# for it; false where none is installed.
basic_memory_peer() {
    local set=python-basic-memory list=$root/peers/python/requirements-basic-memory.txt newest
    for newest in python3.14 python3.13 python3.12; do
        "$newest" --version >/dev/null 2>&1 || continue
        installed "$set" "$list" && [[ -d $local_folder/$set ]] && return 0
        echo "installing basic-memory"
        rm -rf "${local_folder:?}/$set"
        "$newest" -m venv "$local_folder/$set" || return 1
        "$local_folder/$set/bin/python" -m pip install --quiet --disable-pip-version-check \
            --requirement "$list" || return 1
        mark_installed "$set" "$list"
        return 0
    done
    return 1
}

node_peers() {
    local lists=("$root/peers/package.json" "$root/peers/package-lock.json")
    installed node "${lists[@]}" && [[ -d $root/peers/node_modules ]] && return 0
    need npm "Node 20 with npm runs the JavaScript peers"
    echo "installing Node peers"
    # `npm ci` would refuse the lock file over an optional package for another
    # system; `install` takes the locked versions and hashes all the same.
    (cd "$root/peers" && npm install --no-save --no-progress --loglevel=error)
    mark_installed node "${lists[@]}"
}

# rmcp_peer dev|release: into .local/target-rmcp.
rmcp_peer() {
    cargo build --quiet --locked --profile "$1" \
        --manifest-path "$root/peers/rmcp/Cargo.toml" --target-dir "$local_folder/target-rmcp"
}

# embedding_model QUIPU: installs the model into .local/ and exports QUIPU_TEST_MODELS.
embedding_model() {
    local data=$local_folder/model-data
    QUIPU_DATA=$data "$1" models install >/dev/null || {
        echo "the embedding model could not be installed"
        return 1
    }
    export QUIPU_TEST_MODELS=$data/models
}
