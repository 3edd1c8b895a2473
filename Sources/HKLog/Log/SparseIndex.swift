internal import Synchronization

/// Remembers the places of some frames, so that a segment is scanned from nearby and not from its start.
///
/// Only a memory of what was read: it can be dropped at any time, and whoever uses an entry checks that the frame
/// there is the one remembered (a rewrite may have moved it).
final class SparseIndex: Sendable {
    struct Place: Sendable {
        var anchor: UInt64
        var previousNonce: UInt64
        var byteOffset: Int
    }

    /// Bytes of a segment between two remembered places.
    static let stride = 256 << 10

    private let places = Mutex<[UInt64: [Place]]>([:])

    /// The last remembered place in the segment at or before the anchor.
    func place(before anchor: UInt64, in segment: UInt64) -> Place? {
        places.withLock { places in
            guard let list = places[segment] else { return nil }
            var low = 0
            var high = list.count
            while low < high {
                let middle = (low + high) / 2
                if list[middle].anchor <= anchor { low = middle + 1 } else { high = middle }
            }
            return low == 0 ? nil : list[low - 1]
        }
    }

    /// Remembers a place when it lies far enough behind the last one of its segment.
    func remember(_ place: Place, in segment: UInt64) {
        places.withLock { places in
            let last = places[segment]?.last
            if let last, place.byteOffset < last.byteOffset + Self.stride || place.anchor <= last.anchor {
                return
            }
            places[segment, default: []].append(place)
        }
    }

    /// Forgets everything, after a rewrite.
    func forget() {
        places.withLock { $0 = [:] }
    }
}
