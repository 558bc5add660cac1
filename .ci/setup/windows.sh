# shellcheck shell=bash disable=SC2034,SC2154 # names that setup.sh and common.sh give and read
# Everything that compiles for Windows and runs there, in Wine. To be sourced by .ci/setup.sh.

# The target of Rust, and for C's adapter the source of cJSON, of which Debian has the library for Linux only.
install_windows() {
    doing='windows'
    local target=x86_64-pc-windows-gnu cjson=$root/.local/windows/cjson unpacked=$root/.local/cjson.new
    if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$target" ]; then
        command -v rustup >/dev/null || fail "Rust has no standard library for $target, and there is no rustup to get it"
        say windows "adding Rust's target $target"
        quietly rustup target add "$target"
    fi
    if [ -e "$cjson/cJSON.c" ]; then
        say windows present
        return
    fi
    say windows "getting the source of cJSON"
    rm -rf "$unpacked"
    mkdir -p "$unpacked"/{lists/partial,source} "$cjson/cjson"
    # A list of its own: the machine's need not have sources.
    # shellcheck disable=SC2016 # apt-get fills these in
    apt-get indextargets --format '$(ORIGIN) $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        sed -nE 's/^(Debian|Ubuntu) (.* (main|universe))$/deb-src \2/p' | sort -u >"$unpacked/sources.list"
    local apt=(apt-get -o "Dir::Etc::SourceList=$unpacked/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o "Dir::State::Lists=$unpacked/lists" -o APT::Sandbox::User=root)
    quietly "${apt[@]}" update
    (cd "$unpacked/source" && quietly "${apt[@]}" source --download-only cjson)
    tar --extract --gzip --file "$unpacked"/source/cjson_*.orig.tar.gz --directory "$unpacked" --strip-components 1
    cp "$unpacked/cJSON.h" "$cjson/cjson/"
    cp "$unpacked"/cJSON.[ch] "$cjson/"
    rm -rf "$unpacked"
}

# Python for Windows, which Wine runs.
install_windows_runtimes() {
    doing='runtimes'
    local place=$root/.local/windows_runtimes unpacked=$root/.local/windows_runtimes.new name=cpython version hash
    if cat .ci/windows_{runtimes,wheels}.txt | cmp --silent - "$place/wanted"; then
        say runtimes present
        return
    fi
    say runtimes "getting Python for Windows into ${place#"$root/"}"
    read -r version hash < <(sed -n 's/^cpython //p' .ci/windows_runtimes.txt)
    rm -rf "$place" "$unpacked"
    mkdir -p "$unpacked"
    download "https://repo1.maven.org/maven2/org/bytedeco/$name/$version/$name-$version-windows-x86_64.jar" "$hash" \
        "$unpacked/$name.jar"
    quietly "$venv/bin/python" -m zipfile --extract "$unpacked/$name.jar" "$unpacked/jar"
    quietly "$venv/bin/python" -m pip download --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
        --platform win_amd64 --python-version 3.10 --requirement .ci/windows_wheels.txt --dest "$unpacked/wheels"
    mkdir -p "$place"
    mv "$unpacked/jar/org/bytedeco/cpython/windows-x86_64" "$place/python"
    mv "$unpacked/wheels" "$place/wheels"
    rm -rf "$unpacked" "$place"/python/{include,libs,share,jnipython.dll}
    cat .ci/windows_{runtimes,wheels}.txt >"$place/wanted"
}
