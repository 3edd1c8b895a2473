/// Finds a number by a name's bytes: an open-addressed table over one block of text.
///
/// Names are compared as bytes, and looking one up makes no `String`.
struct NameIndex: Sendable {
    private var text: [UInt8] = []
    private var entries: [Entry] = []
    /// A place in `entries` plus 1; 0 where nothing is.
    private var slots: [UInt16]

    private struct Entry {
        var textOffset: UInt32
        var byteCount: UInt32
        var value: Int64
    }

    /// Makes an index for at most `nameCount` names, which must be below 16,000.
    init(nameCount: Int) {
        var slotCount = 16
        while slotCount < nameCount * 2 { slotCount *= 2 }
        slots = [UInt16](repeating: 0, count: slotCount)
        entries.reserveCapacity(nameCount)
        text.reserveCapacity(nameCount * 40)
    }

    /// Adds a name; one that is there keeps its value.
    mutating func insert(_ name: String, _ value: Int64) {
        let utf8 = name.utf8
        let bytes = utf8.span
        // One slot stays empty, so that every search ends.
        guard entries.count + 1 < slots.count else { return }
        var slot = firstSlot(of: bytes)
        while slots[slot] != 0 {
            if holds(bytes, at: slot) { return }
            slot = (slot + 1) & (slots.count - 1)
        }
        entries.append(
            Entry(textOffset: UInt32(text.count), byteCount: UInt32(bytes.count), value: value))
        text += utf8
        slots[slot] = UInt16(entries.count)
    }

    func value(of name: Span<UInt8>) -> Int64? {
        var slot = firstSlot(of: name)
        while slots[slot] != 0 {
            if holds(name, at: slot) { return entries[Int(slots[slot]) - 1].value }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    func value(of name: String) -> Int64? {
        let utf8 = name.utf8
        return value(of: utf8.span)
    }

    private func holds(_ name: Span<UInt8>, at slot: Int) -> Bool {
        let entry = entries[Int(slots[slot]) - 1]
        guard Int(entry.byteCount) == name.count else { return false }
        let offset = Int(entry.textOffset)
        for index in name.indices where text[offset + index] != name[index] { return false }
        return true
    }

    /// FNV-1a over the last 32 bytes and the length: HealthKit's names differ at their end.
    private func firstSlot(of name: Span<UInt8>) -> Int {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325 ^ UInt64(name.count)
        var index = max(0, name.count - 32)
        while index < name.count {
            hash = (hash ^ UInt64(name[index])) &* 0x100_0000_01B3
            index += 1
        }
        return Int(truncatingIfNeeded: hash ^ hash >> 32) & (slots.count - 1)
    }
}
