/// The states in which a loss of power may leave the files.
extension SimulatedFileLayer.State {
    /// What becomes of one change that no sync has covered.
    enum Fate: Sendable {
        case kept
        case lost
        /// Of a write, only so many bytes.
        case cut(Int)
        /// Of a write, the size but not the bytes.
        case zeros
        /// Of a write, a hole of zeros in its middle.
        case hole
        /// Of a write, the bytes that stood in the block before.
        case stale
    }

    /// States after a loss of power at this moment: the extremes, each prefix, each change alone lost or kept, each
    /// write torn in several ways, and `randomCount` arbitrary mixtures.
    package func crashStates(randomCount: Int, seed: UInt64) -> [SimulatedFileLayer.State] {
        let numbers = nodes.values.flatMap { $0.pending.filter { !$0.isSynchronized }.map(\.number) }.sorted()
        guard !numbers.isEmpty else { return [afterCrash { _ in .kept }] }
        var states: [SimulatedFileLayer.State] = [afterCrash { _ in .kept }, afterCrash { _ in .lost }]
        for number in numbers {
            states.append(afterCrash { $0 <= number ? .kept : .lost })
            states.append(afterCrash { $0 == number ? .lost : .kept })
            states.append(afterCrash { $0 == number ? .kept : .lost })
        }
        let unsure = nodes.values.flatMap { $0.pending.filter { !$0.isSynchronized } }
        let writes = unsure.compactMap { pending -> (Int64, Int)? in
            if case .write(_, let bytes) = pending.change { (pending.number, bytes.count) } else { nil }
        }.sorted { $0.0 < $1.0 }
        for (number, count) in writes {
            for fate in [Fate.cut(1), .cut(count / 3), .cut(count - 1), .zeros, .hole, .stale] {
                states.append(afterCrash { $0 == number ? fate : .kept })
                states.append(afterCrash { $0 == number ? fate : .lost })
            }
        }
        var random = seed | 1
        func next(_ bound: Int) -> Int {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(random >> 33) % bound
        }
        for _ in 0..<randomCount {
            var fates: [Int64: Fate] = [:]
            for number in numbers {
                let size = writes.first { $0.0 == number }?.1 ?? 1
                fates[number] =
                    switch next(7) {
                    case 0, 1: .kept
                    case 2: .lost
                    case 3: .cut(next(size + 1))
                    case 4: .zeros
                    case 5: .hole
                    default: .stale
                    }
            }
            states.append(afterCrash { fates[$0] ?? .kept })
        }
        return states
    }

    /// The files as the next start of the machine finds them.
    private func afterCrash(_ fate: (Int64) -> Fate) -> SimulatedFileLayer.State {
        var state = withoutProcess()
        for (key, node) in nodes {
            var survivor = SimulatedFileLayer.Node(
                isDirectory: node.isDirectory, bytes: node.durableBytes, names: node.durableNames)
            for pending in node.pending {
                switch (pending.isSynchronized ? .kept : fate(pending.number), pending.change) {
                case (.lost, _): break
                case (.cut(let count), .write(let byteOffset, let bytes)):
                    survivor.apply(.write(byteOffset, Array(bytes.prefix(count))))
                case (.zeros, .write(let byteOffset, let bytes)):
                    survivor.apply(.write(byteOffset, [UInt8](repeating: 0, count: bytes.count)))
                case (.hole, .write(let byteOffset, let bytes)):
                    var bytes = bytes
                    let third = bytes.count / 3
                    for index in third..<2 * third { bytes[index] = 0 }
                    survivor.apply(.write(byteOffset, bytes))
                case (.stale, .write(let byteOffset, let bytes)):
                    // An earlier block of the same file: it may well hold whole frames.
                    let old = node.durableBytes.isEmpty ? [0xAA] : node.durableBytes
                    let start = old.count > 224 ? 128 : 0
                    let stale = bytes.indices.map { old[(start + $0) % old.count] }
                    survivor.apply(.write(byteOffset, stale))
                default: survivor.apply(pending.change)
                }
            }
            survivor.durableBytes = survivor.bytes
            survivor.durableNames = survivor.names
            state.nodes[key] = survivor
        }
        return state
    }

    /// A number that two states share when the same files hold the same bytes.
    package var contentHash: Int {
        var hasher = Hasher()
        func add(_ node: Int) {
            for (name, child) in (nodes[node]?.names ?? [:]).sorted(by: { $0.key < $1.key }) {
                hasher.combine(name)
                hasher.combine(nodes[child]?.bytes ?? [])
                add(child)
                hasher.combine("/")
            }
        }
        add(0)
        return hasher.finalize()
    }
}
