// A libFuzzer target for the reader of checkpoints: see LayerFuzz.sh.
//
// The input says which store and which of its layer files is attacked, whether it is read or written to, and what
// stands in it. The checksums are made right, so that the input is believed.

import HKLog
import HKLogTestSupport

#if canImport(Glibc)
    import Glibc
#endif

private let stores: [AttackedStore] = {
    do {
        return try [AttackedStore(seed: 5, layerCount: 1), AttackedStore(seed: 9, layerCount: 2)]
    } catch {
        preconditionFailure("a store in memory cannot be made: \(error)")
    }
}()

/// Each store with each of its layers.
private let targets: [(store: AttackedStore, layer: Int)] = stores.flatMap { store in
    store.names.indices.map { (store, $0) }
}

/// One run of the fuzzer.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzLayer(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard input.count >= 1 + HostileLayer.compactHeaderByteCount else { return -1 }
    let target = targets[Int(input[0] & 0x3F) % targets.count]
    let file = HostileLayer.sealed(
        Array(input[1...]), like: target.store.bytes(target.layer), keepsHeader: input[0] & 0x80 == 0)
    target.store.attack(with: file, at: target.layer, writing: input[0] & 0x40 != 0)
    return 0
}

/// Writes the untouched layers as seeds into the folder that LAYER_SEEDS names, and ends.
@_cdecl("LLVMFuzzerInitialize")
public func writeSeeds(_: UnsafeMutablePointer<CInt>, _: UnsafeMutableRawPointer) -> CInt {
    guard let folder = unsafe getenv("LAYER_SEEDS") else { return 0 }
    for (number, target) in targets.enumerated() {
        for use in [0, 0x40] as [UInt8] {
            let seed = [UInt8(number) | use] + HostileLayer.compact(target.store.bytes(target.layer))
            let path = unsafe String(cString: folder) + "/layer-\(number)-\(use == 0 ? "read" : "written")"
            guard let file = unsafe fopen(path, "w") else { exit(74) }
            _ = unsafe fwrite(seed, 1, seed.count, file)
            unsafe fclose(file)
        }
    }
    exit(0)
}
