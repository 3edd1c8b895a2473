internal import HKLogFormat

/// The uuids that a batch has added so far, to find one that stands twice.
///
/// Open addressing over numbers of uuids, at most half full. The hash is seeded, so that crafted uuids cannot
/// make it slow, and slots of earlier batches are told by their generation, so that emptying it costs nothing.
struct UUIDSet {
    private var uuids: [RawUUID] = []
    /// `generation << 32 | number`, 0 where nothing was ever put.
    private var slots = [UInt64](repeating: 0, count: 64)
    private var generation: UInt64 = 1
    private let seed = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))

    /// Empties it for the next batch.
    mutating func removeAll() {
        uuids.removeAll(keepingCapacity: uuids.count <= 1 << 16)
        generation += 1
        if slots.count > 1 << 17 || generation > UInt64(UInt32.max) {
            slots = [UInt64](repeating: 0, count: 64)
            generation = 1
        }
    }

    /// Whether `uuid` was not there yet.
    @inline(__always)
    mutating func insert(_ uuid: RawUUID) -> Bool {
        if uuids.count &* 2 >= slots.count { grow() }
        var place = firstPlace(of: uuid)
        while slots[place] >> 32 == generation {
            if uuids[Int(slots[place] & 0xFFFF_FFFF)] == uuid { return false }
            place = (place &+ 1) & (slots.count &- 1)
        }
        slots[place] = generation << 32 | UInt64(uuids.count)
        uuids.append(uuid)
        return true
    }

    @inline(__always)
    private func firstPlace(of uuid: RawUUID) -> Int {
        let product = (uuid.first ^ seed.0).multipliedFullWidth(by: uuid.second ^ seed.1)
        return Int(truncatingIfNeeded: product.high ^ product.low) & (slots.count &- 1)
    }

    private mutating func grow() {
        slots = [UInt64](repeating: 0, count: slots.count * 2)
        for (number, uuid) in uuids.enumerated() {
            var place = firstPlace(of: uuid)
            while slots[place] != 0 { place = (place + 1) & (slots.count - 1) }
            slots[place] = generation << 32 | UInt64(number)
        }
    }
}
