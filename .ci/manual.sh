#!/usr/bin/env bash
# Builds the manual, with contents and a search, into target/manual/site: the pages of the repository as they are, and the files
# that they name. It fails at a link that leads nowhere in the manual, and if anything of it would be loaded from elsewhere.
# shellcheck source=.ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$root"

readonly built=target/manual
rm -rf "$built"
mkdir -p "$built/pages"

mapfile -t pages < <(git ls-files --cached --others --exclude-standard README.md ARCHITECTURE.md CONTRIBUTING.md CHANGELOG.md 'docs/*.md' \
    'sql/*.md' bindings/README.md 'bindings/*/README.md' tests/conformance/README.md)
cp --parents "${pages[@]}" "$built/pages/"
cp .ci/manual/code.css "$built/pages/"
# Files that a link or an image names beside the pages.
for page in "${pages[@]}"; do
    grep --only-matching --perl-regexp '(\]\(|src=")\K[^)#" ]+' "$page" | while read -r target; do
        file=$(realpath --canonicalize-missing --relative-to=. "$(dirname "$page")/$target")
        [[ $file == ../* || $file == *.md || ! -f $file ]] || cp --parents "$file" "$built/pages/"
    done || true
done

# Quietly, it would count no warning.
.local/manual/bin/mkdocs build --strict --config-file .ci/manual/mkdocs.yml >"$built/log" 2>&1 || {
    grep --invert-match '^INFO' "$built/log" >&2
    fail 'the manual could not be built (see above)'
}
if grep --recursive --include='*.html' --extended-regexp '<(script|link|img|iframe)[^>]*(src|href)="?(https?:)?//' "$built/site" >"$built/elsewhere"; then
    fail "this would be loaded from elsewhere: $(head -n 3 "$built/elsewhere")"
fi
echo "The manual: $built/site/index.html; with its search: python3 -m http.server --directory $built/site"
