#!/bin/sh
# Fuzzes the reader of Apple Health exports: tools/fuzz/ExportFuzz.sh [seconds] [corpus folder]
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-60}
work=.build/export-fuzz
corpus=${2:-$work/corpus}
swift build -c release --target HKLogAppleHealth --scratch-path "$work" -Xswiftc -enable-testing \
    -Xswiftc -sanitize=fuzzer -Xswiftc -parse-as-library --sanitize address
mkdir -p "$corpus"
bin=$work/release
[ -n "$(ls "$corpus")" ] || cp tools/fuzz/ExportCorpus/* "$corpus/"
swiftc -O -sanitize=fuzzer,address -parse-as-library -module-name ExportFuzz \
    tools/fuzz/ExportFuzz.swift -I "$bin/Modules" -Xcc -ISources/CHKLogShims/include \
    -Xcc -fmodule-map-file=Sources/CLZ4/module.modulemap -Xcc -fmodule-map-file=Sources/CZip/module.modulemap \
    -Xcc -fmodule-map-file="$bin/CHKLogShims.build/module.modulemap" \
    $(find "$bin/" -name '*.o' \( -path '*/HKLog.build/*' -o -path '*/HKLogFormat.build/*' \
        -o -path '*/HKLogAppleHealth.build/*' -o -path '*/CHKLogShims.build/*' \)) -lzip -llz4 -o "$work/ExportFuzz"
exec "$work/ExportFuzz" -max_total_time="$seconds" -max_len=16384 -timeout=20 -artifact_prefix="$work/" \
    -dict=tools/fuzz/Export.dict "$corpus"
