#!/bin/sh
# Fuzzes the reader of checkpoints: tools/fuzz/LayerFuzz.sh [seconds] [corpus folder]
# 'LAYER_SEEDS=tools/fuzz/LayerSeeds tools/fuzz/LayerFuzz.sh' writes the seeds anew, after a change of the format.
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-60}
work=.build/layer-fuzz
corpus=${2:-$work/corpus}
swift build -c release --target HKLogTestSupport --scratch-path "$work" \
    -Xswiftc -sanitize=fuzzer -Xswiftc -parse-as-library --sanitize address
mkdir -p "$corpus"
bin=$work/release
[ -n "$(ls "$corpus")" ] || [ -n "${LAYER_SEEDS:-}" ] || cp tools/fuzz/LayerSeeds/* "$corpus/"
# The package manager calls a package by its folder.
package=$(basename "$PWD" | tr '[:upper:]' '[:lower:]')
swiftc -O -sanitize=fuzzer,address -parse-as-library -package-name "$package" -module-name LayerFuzz \
    tools/fuzz/LayerFuzz.swift -I "$bin/Modules" -Xcc -ISources/CHKLogShims/include \
    -Xcc -fmodule-map-file=Sources/CLZ4/module.modulemap \
    -Xcc -fmodule-map-file="$bin/CHKLogShims.build/module.modulemap" \
    $(find "$bin/" -name '*.o' \( -path '*/HKLog.build/*' -o -path '*/HKLogFormat.build/*' \
        -o -path '*/HKLogTestSupport.build/*' -o -path '*/CHKLogShims.build/*' \)) -llz4 -o "$work/LayerFuzz"
exec "$work/LayerFuzz" -max_total_time="$seconds" -max_len=65536 -timeout=20 -rss_limit_mb=1024 \
    -malloc_limit_mb=256 -print_final_stats=1 -artifact_prefix="$work/" "$corpus"
