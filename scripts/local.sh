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

# python_313: a Python 3.13 with basic-memory in .local/python-3.13, for machines whose own is older.
# Debian's packages are unpacked beside the system, never into it.
python_313() {
    local set=python-3.13 list=$root/peers/python/requirements-basic-memory.txt
    local home=$local_folder/python-3.13
    installed "$set" "$list" && [[ -x $home/python ]] && return 0
    command -v apt-get >/dev/null && command -v dpkg >/dev/null || return 1
    echo "installing Python 3.13 and basic-memory"
    rm -rf "${home:?}"
    mkdir -p "$home"/{root,debs,wheels,apt/lists/partial,apt/cache/archives/partial}
    touch "$home/apt/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian trixie main" \
        >"$home/apt/sources.list"
    local apt=(apt-get -qq -o "Dir::Etc::sourcelist=$home/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
        -o "Dir::State=$home/apt" -o "Dir::State::status=$home/apt/status" -o "Dir::State::lists=$home/apt/lists"
        -o "Dir::Cache=$home/apt/cache" -o APT::Sandbox::User=root)
    "${apt[@]}" update || return 1
    (cd "$home/debs" && "${apt[@]}" download libgcc-s1 libc6 libexpat1 libzstd1 zlib1g libssl3t64 \
        libpython3.13-minimal python3.13-minimal tzdata media-types libbz2-1.0 libffi8 liblzma5 libtinfo6 \
        libncursesw6 libreadline8t64 libsqlite3-0 libuuid1 libpython3.13-stdlib libstdc++6) || return 1
    local package
    for package in "$home"/debs/*.deb; do
        dpkg -x "$package" "$home/root"
    done
    cat >"$home/python" <<PROGRAM
#!/bin/sh
# With its own C library: the system's may be older.
exec "$home/root/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" --argv0 "$home/root/usr/bin/python3.13" \\
    --library-path "$home/root/usr/lib/x86_64-linux-gnu" "$home/root/usr/bin/python3.13" "\$@"
PROGRAM
    chmod +x "$home/python"
    # These two are published as sources only; they are plain Python.
    python3 -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$home/wheels" pybars3==0.9.7 PyMeta3==0.5.1 || return 1
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$home/wheels" pip || return 1
    "$home/python" "$(echo "$home"/wheels/pip-*.whl)/pip" install --quiet --disable-pip-version-check \
        --root-user-action ignore --only-binary :all: --find-links "$home/wheels" \
        --target "$home/site" --requirement "$list" || return 1
    mark_installed "$set" "$list"
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
