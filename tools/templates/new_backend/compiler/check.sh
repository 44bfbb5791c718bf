#!/usr/bin/env bash
#
# What every compiler of kernels promises, a line for each, by the anyplace command:
#
#   check.sh ANYPLACE NAME FORMAT [ARCHITECTURE]
#
# ANYPLACE is the command, NAME the compiler's name, FORMAT one that it makes. ANYPLACE_BACKEND_PATH says where the plugin is.
set -uo pipefail
anyplace=$(realpath "$(command -v "${1:?the anyplace command}")") name=${2:?the name of the compiler} format=${3:?a format that it makes}
target=${4:-$format}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/temporary" "$work/headers"
export TMPDIR=$work/temporary ANYPLACE_CACHE=$work/cache
cd "$work" || exit 1
passed=0 failed=0

check() { # check WHAT COMMAND...
  local what=$1
  shift
  if "$@" >log 2>&1; then
    echo "ok: $what"
    passed=$((passed + 1))
  else
    echo "FAILED: $what"
    sed 's/^/    /' log
    failed=$((failed + 1))
  fi
}
compile() { "$anyplace" compile "$@" --compiler "$name"; }
image() { find . -maxdepth 1 -name 'made*' ! -name '*.cu' | head -n 1; }
kernel='extern "C" __global__ void twice(float* data, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] *= 2;
}'
makes_image() {
  rm -f made*
  printf '%s\n' "$kernel" >good.cu
  compile good.cu --for "$target" -o made && [[ -s $(image) ]]
}
has_format() {
  local begin
  begin=$(head -c 4 "$(image)" | od -An -tx1 | tr -d ' \n')
  echo "the image begins with $begin"
  case $format in
    shared_object) [[ $begin == 7f454c46 ]] ;;
    hsaco) [[ $begin == 7f454c46 || $begin == 5f5f434c ]] ;; # an object, or Clang's bundle of them
    spirv) [[ $begin == 03022307 ]] ;;
    ptx) grep -q '^\.version' "$(image)" ;;
    *) [[ -n $begin ]] ;;
  esac
}
says_where() { # a source that can't be compiled: which status, which file and line
  printf '%s\n#error "wrong on purpose"\n' "// the first line" >bad.cu
  compile bad.cu --for "$target" -o bad >said 2>&1
  local status=$?
  cat said
  [[ $status == 1 ]] && grep -q 'bad.cu[:(]2' said && grep -q 'wrong on purpose' said && grep -q compile_failed said
}
says_where_of_a_type() {
  printf '// the first line\n%s\nextern "C" __global__ void bad(float* data) { data = nobody_knows_this; }\n' "$kernel" >bad.cu
  compile bad.cu --for "$target" -o bad >said 2>&1 && return 1
  cat said
  grep -q 'bad.cu[:(]6' said && grep -q nobody_knows_this said
}
takes_defines() {
  printf '#if !defined(FIRST_WORD) || SECOND_WORD != 3\n#error "the definitions are missing"\n#endif\n%s\n' "$kernel" >defines.cu
  compile defines.cu --for "$target" -o made -DFIRST_WORD -DSECOND_WORD=3 || return 1
  ! compile defines.cu --for "$target" -o made -DFIRST_WORD # shows that the #error is looked at
}
takes_headers() { # and has told the cache which ones it read
  printf '#include "own.h"\n%s\n' "$kernel" >with_header.cu
  echo '#define OWN 1' >headers/own.h
  compile with_header.cu --for "$target" -o made -I headers || return 1
  echo '#error "the header has changed"' >headers/own.h
  ! compile with_header.cu --for "$target" -o made -I headers
}
refuses_architecture() {
  compile good.cu --for no_such_architecture -o nothing >said 2>&1
  local status=$?
  cat said
  [[ $status == 1 ]] && grep -q no_such_architecture said && [[ -z $(find . -name 'nothing*') ]]
}
names_templates() { # or says that it can't
  printf '%s\n' 'template <class T> __global__ void scale(T* data) { data[threadIdx.x] *= 2; }' >template.cu
  compile template.cu --for "$target" -o made --name-expression 'scale<float>' >said 2>&1
  cat said
  grep -q '^  scale<float> is .' said || grep -q '(unsupported)' said
}
leaves_nothing() {
  ls -A temporary
  [[ -z $(ls -A temporary) ]]
}

check "it makes an image of a good source" makes_image
check "the image is of the format $format" has_format
check "an #error is compile_failed, with file and line" says_where
check "a name that isn't known is reported with file and line" says_where_of_a_type
check "definitions are taken" takes_defines
check "headers are found, and noticed when they change" takes_headers
check "an architecture that there isn't is refused" refuses_architecture
check "a template is instantiated by its name, or refused" names_templates
check "no file is left in the temporary folder" leaves_nothing
echo "$passed passed, $failed failed"
((failed == 0))
