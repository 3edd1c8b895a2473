#!/bin/sh
# Fuzzes the JSON Lines reader: tools/fuzz/JSONFuzz.sh [seconds] [corpus folder]
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-60}
corpus=${2:-.build/fuzz/JSONCorpus}
swift build -c release --target HKLogJSONLines --scratch-path .build/fuzz \
    -Xswiftc -sanitize=fuzzer -Xswiftc -parse-as-library --sanitize address
mkdir -p "$corpus"
bin=.build/fuzz/release
[ -n "$(ls "$corpus")" ] || cp tools/fuzz/JSONSeeds/* "$corpus/"
swiftc -O -sanitize=fuzzer,address -parse-as-library -module-name JSONFuzz tools/fuzz/JSONFuzz.swift \
    -I "$bin/Modules" -Xcc -ISources/CHKLogShims/include -Xcc -fmodule-map-file=Sources/CLZ4/module.modulemap \
    -Xcc -fmodule-map-file="$bin/CHKLogShims.build/module.modulemap" \
    $(find "$bin/" -name '*.o' \( -path '*/HKLog.build/*' -o -path '*/HKLogFormat.build/*' \
        -o -path '*/HKLogJSONLines.build/*' -o -path '*/CHKLogShims.build/*' \)) -o .build/fuzz/JSONFuzz
exec .build/fuzz/JSONFuzz -max_total_time="$seconds" -max_len=8192 "$corpus"
