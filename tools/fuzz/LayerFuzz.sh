#!/bin/sh
# Fuzzes the reader of checkpoints: tools/fuzz/LayerFuzz.sh [seconds] [corpus folder]
# The seeds are a small store's own layers, which the target writes itself when the corpus is empty.
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-60}
work=.build/layer-fuzz
corpus=${2:-$work/corpus}
swift build -c release --target HKLogTestSupport --scratch-path "$work" \
    -Xswiftc -sanitize=fuzzer -Xswiftc -parse-as-library --sanitize address
mkdir -p "$corpus"
bin=$work/release
# The package manager calls a package by its folder.
package=$(basename "$PWD" | tr '[:upper:]' '[:lower:]')
swiftc -O -sanitize=fuzzer,address -parse-as-library -package-name "$package" -module-name LayerFuzz \
    tools/fuzz/LayerFuzz.swift -I "$bin/Modules" -Xcc -ISources/CHKLogShims/include \
    -Xcc -fmodule-map-file=Sources/CLZ4/module.modulemap \
    -Xcc -fmodule-map-file="$bin/CHKLogShims.build/module.modulemap" \
    $(find "$bin/" -name '*.o' \( -path '*/HKLog.build/*' -o -path '*/HKLogFormat.build/*' \
        -o -path '*/HKLogTestSupport.build/*' -o -path '*/CHKLogShims.build/*' \)) -llz4 -o "$work/LayerFuzz"
[ -n "$(ls "$corpus")" ] || LAYER_SEEDS="$corpus" "$work/LayerFuzz"
exec "$work/LayerFuzz" -max_total_time="$seconds" -max_len=65536 -timeout=20 -rss_limit_mb=1024 \
    -malloc_limit_mb=256 -print_final_stats=1 -artifact_prefix="$work/" "$corpus"
