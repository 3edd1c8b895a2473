internal import HKLogFormat

// Bringing day buckets up to date: everything is computed anew from a bucket's own rows, in whatever order they
// came, by the one kernel that queries use as well.
extension Views {
    /// Brings rankings, buckets and the digest up to date.
    ///
    /// Cost: the rows of the days that changed.
    func flush() {
        refreshRankings()
        guard !buckets.dirty.isEmpty else { return }
        refreshKernelShapes()
        recomputeDirty()
        buckets.removeDirty()
        plain.forgetBuckets()
    }

    /// What the kernel must know of each shape, as plain values for the loop over rows.
    private func refreshKernelShapes() {
        kernelShapes.removeAll()
        for shape in symbols.shapes {
            kernelShapes.append(
                KernelShape(
                    conversion: shape.conversion ?? .identity, isConvertible: shape.conversion != nil,
                    rank: rank(of: shape)))
        }
    }

    /// Computes all changed days, half of many on a second thread.
    ///
    /// Each day is a pure function of its own rows, so who computes it never shows.
    private func recomputeDirty() {
        let dirty = buckets.dirty
        let half = dirty.count / 2
        guard layers.isEmpty, half >= Views.fewestDaysForThread,
            let helper = try? DayThread(views: self, days: dirty[half...])
        else {
            for index in dirty { take(dayComputer.compute(Int(index), self), bucket: Int(index)) }
            return
        }
        let own = dirty[..<half].map { dayComputer.compute(Int($0), self) }
        let others = helper.finish()
        for (index, result) in zip(dirty, own) { take(result, bucket: Int(index)) }
        for (index, result) in zip(dirty[half...], others) { take(result, bucket: Int(index)) }
    }

    /// Fewer days are not worth the start of a thread.
    private static let fewestDaysForThread = 2048

    private func take(_ result: DayComputer.Result, bucket index: Int) {
        var record = result.record
        let entry = buckets.entries[index]
        if !result.categories.isEmpty {
            record.categoryFirst = UInt64(buckets.categoryRows.count)
            for row in result.categories {
                buckets.categoryRows.append(
                    CategoryRecord(value: row.value, count: row.count, seconds: row.seconds))
            }
        }
        let old = entry.hasRecord ? entry.record : layerRecord(entry.key) ?? BucketRecord()
        buckets.setRecord(record, bucket: index)
        digestSum &-= old.digest.sum
        digestSum &+= record.digest.sum
        bucketCount += (record.isEmpty ? 0 : 1) - (old.isEmpty ? 0 : 1)
    }

    /// The record that the layers have of a bucket.
    func layerRecord(_ key: BucketKey) -> BucketRecord? {
        for layer in layers.reversed() {
            if let index = layer.bucketIndex(key) { return layer.load(layer.buckets, index) as BucketRecord }
        }
        return nil
    }

    func dayRange(_ day: Int32) -> Range<Int64> {
        let start = calendar.dayStart(day)
        return start..<max(start, calendar.dayStart(day &+ 1))
    }

    // MARK: Gathering

    /// Calls for each shown row that touches a day, each once, in no order.
    func forEachShownRow(_ key: BucketKey, _ body: (UInt32, RowView) -> Void) {
        for layer in layers {
            guard let index = layer.bucketIndex(key) else { continue }
            layer.forEachRow(ofBucket: index) { row in
                if flags(row) & RowState.shown != 0 { body(row, view(row)) }
            }
        }
        if let index = buckets.find(key) {
            let entry = buckets.entries[index]
            var link = entry.firstRow
            while link != 0 {
                let local = Int(link) - 1
                if table.flags[local] & RowState.shown != 0 {
                    let row = UInt32(rowBase + local)
                    body(row, view(row))
                }
                link = table.links[local]
            }
            var reference = entry.firstSpan
            while reference != 0 {
                let span = buckets.span(reference)
                if table.flags[Int(span.row)] & RowState.shown != 0 {
                    let row = UInt32(rowBase) + span.row
                    body(row, view(row))
                }
                reference = span.next
            }
        }
        let longRows = symbols.types[Int(key.type)].longRows
        guard !longRows.isEmpty else { return }
        let range = dayRange(key.day)
        for row in longRows where flags(row) & RowState.shown != 0 {
            let view = view(row)
            // A row that starts in the day is linked from it already.
            if view.start < range.lowerBound && view.end > range.lowerBound { body(row, view) }
        }
    }

    /// A row in the canonical unit, with the rank of its source; `nil` when its unit does not fit.
    func kernelSample(_ view: RowView) -> KernelSample? {
        let shape = symbols.shapes[Int(view.shape)]
        guard let conversion = shape.conversion else { return nil }
        let value = conversion.apply(Double(bitPattern: view.value))
        guard value.isFinite else { return nil }
        let count = view.extra == 0 ? 1 : max(extraRecord(view.extra).count, 1)
        return KernelSample(
            start: view.start, end: view.end, value: value, measurementCount: count,
            rank: rank(of: shape), uuidHigh: view.uuid.first.byteSwapped,
            uuidLow: view.uuid.second.byteSwapped)
    }

    func categorySample(_ view: RowView) -> KernelCategorySample {
        let shape = symbols.shapes[Int(view.shape)]
        return KernelCategorySample(
            start: view.start, end: view.start &+ min(view.duration, Views.longestSpreadDuration),
            value: Int64(bitPattern: view.value), rank: rank(of: shape))
    }

    func rank(of shape: ShapeEntry) -> Int32 {
        symbols.types[Int(shape.typeID)].rankOfSource[shape.sourceID] ?? -1
    }

    // MARK: Rankings

    /// The day keys of a type in order, over layers and memory.
    func orderedKeys(type: UInt32) -> [BucketKey] {
        let first = BucketKey(type: type, day: .min)
        let last = BucketKey(type: type, day: .max)
        var keys: [BucketKey] = []
        for layer in layers {
            var index = layer.firstBucket(from: first)
            while index < layer.bucketKeys.count {
                let key = BucketKey(raw: layer.load(layer.bucketKeys, index))
                if key > last { break }
                keys.append(key)
                index += 1
            }
        }
        let order = buckets.inOrder()
        for index in order.partitioningIndex(where: { buckets.entries[Int($0)].key >= first })..<order.count {
            let key = buckets.entries[Int(order[index])].key
            if key > last { break }
            keys.append(key)
        }
        guard !layers.isEmpty else { return keys }
        keys.sort()
        var unique: [BucketKey] = []
        for key in keys where unique.last != key { unique.append(key) }
        return unique
    }

    /// Finds the first and last start of a shape again, after a row at one of the ends went away.
    func refreshExtremes(_ shape: UInt32) {
        guard symbols.shapes[Int(shape)].extremesAreStale else { return }
        let keys = orderedKeys(type: symbols.shapes[Int(shape)].typeID)
        var (first, last) = (Int64.max, Int64.min)
        for key in keys {
            forEachShownRow(key) { _, view in if view.shape == shape { first = min(first, view.start) } }
            if first != .max { break }
        }
        for key in keys.reversed() {
            // A row that reaches into a later day starts in an earlier one, which comes next here.
            let range = dayRange(key.day)
            forEachShownRow(key) { _, view in
                if view.shape == shape && view.start >= range.lowerBound { last = max(last, view.start) }
            }
            if last != .min { break }
        }
        symbols.withShape(shape) { entry in
            entry.firstStart = first
            entry.lastStart = last
            entry.extremesAreStale = false
        }
    }

    /// One source of one type, as the ranking sees it.
    struct RankedSource {
        var sourceID: UInt32
        var sourceClass: SourceClass
        var samples: Int
        var firstStart: Int64
        var lastStart: Int64
        /// The place in the user's list; `nil` for sources that are not in it.
        var preference: Int?
    }

    /// The sources of a type with shown samples, of one stream or of all, the highest priority first.
    func rankedSources(type: UInt32, stream: UInt32? = nil) -> [RankedSource] {
        var found: [RankedSource] = []
        for shape in symbols.types[Int(type)].shapeIDs where symbols.shapes[Int(shape)].shownCount > 0 {
            if let stream, symbols.shapes[Int(shape)].streamID != stream { continue }
            refreshExtremes(shape)
            let entry = symbols.shapes[Int(shape)]
            if let index = found.firstIndex(where: { $0.sourceID == entry.sourceID }) {
                found[index].sourceClass = min(found[index].sourceClass, entry.sourceClass)
                found[index].samples += entry.shownCount
                found[index].firstStart = min(found[index].firstStart, entry.firstStart)
                found[index].lastStart = max(found[index].lastStart, entry.lastStart)
            } else {
                found.append(
                    RankedSource(
                        sourceID: entry.sourceID, sourceClass: entry.sourceClass, samples: entry.shownCount,
                        firstStart: entry.firstStart, lastStart: entry.lastStart, preference: nil))
            }
        }
        if let preferred = settings.priorities[symbols.types[Int(type)].identifier] {
            for index in found.indices {
                found[index].preference = preferred.firstIndex {
                    self.sourceIsNamed($0, found[index].sourceID)
                }
            }
        }
        return found.sorted { left, right in
            let places = (left.preference ?? .max, right.preference ?? .max)
            if places.0 != places.1 { return places.0 < places.1 }
            if left.sourceClass != right.sourceClass { return left.sourceClass < right.sourceClass }
            if left.firstStart != right.firstStart { return left.firstStart > right.firstStart }
            return sourcePrecedes(left.sourceID, right.sourceID)
        }
    }

    /// By name, then by bundle identifier, as UTF-8 bytes.
    private func sourcePrecedes(_ left: UInt32, _ right: UInt32) -> Bool {
        let one = symbols.sources[Int(left)]
        let two = symbols.sources[Int(right)]
        for (a, b) in [(one?.name, two?.name), (one?.bundleIdentifier, two?.bundleIdentifier)] {
            let (x, y) = (a ?? "", b ?? "")
            if !x.utf8.elementsEqual(y.utf8) { return x.utf8.lexicographicallyPrecedes(y.utf8) }
        }
        return left < right
    }

    /// Computes stale rankings again, and marks the buckets whose numbers may depend on a change.
    private func refreshRankings() {
        for id in symbols.typesToRank where symbols.types[Int(id)].rankingIsStale {
            let type = Int(id)
            let ranking = rankedSources(type: id).map(\.sourceID)
            let old = symbols.types[type].ranking
            symbols.withType(id) { entry in
                entry.ranking = ranking
                entry.rankingIsStale = false
                entry.rankOfSource.removeAll()
                for (rank, source) in ranking.enumerated() { entry.rankOfSource[source] = Int32(rank) }
            }
            guard spreads(id) else { continue }
            let (kept, stayed) = (Set(ranking), Set(old))
            if old.filter(kept.contains) != ranking.filter(stayed.contains) {
                markBucketsOfSeveralSources(id)
            }
        }
        symbols.typesToRank.removeAll(keepingCapacity: true)
    }

    private func markBucketsOfSeveralSources(_ type: UInt32) {
        for key in orderedKeys(type: type) {
            let record: BucketRecord?
            if let index = buckets.find(key), buckets.entries[index].hasRecord {
                record = buckets.entries[index].record
            } else {
                record = layerRecord(key)
            }
            if record?.hasSeveralSources == 1 { _ = buckets.touch(key) }
        }
    }
}

extension BucketRecord {
    var isEmpty: Bool { count == 0 && categoryCount == 0 }
}

extension DiscreteMean {
    init(_ style: AggregationStyle) {
        self = style == .discreteEquivalentContinuousLevel ? .equivalentContinuousLevel : .arithmetic
    }
}

// What a checkpoint needs of the buckets.
extension Views {
    /// Links every row that may be shown one day, so that a layer finds all rows of a day in one list.
    func linkUnlinked() {
        for local in 0..<table.count {
            let flags = table.flags[local]
            if flags & (RowState.linked | RowState.gone | RowState.dead | RowState.swept) == 0 {
                link(local, view(UInt32(rowBase + local)))
            }
        }
    }

    /// Calls for each row in memory that is linked from a day, shown or not.
    func forEachLinkedRow(_ key: BucketKey, _ body: (UInt32) -> Void) {
        guard let index = buckets.find(key) else { return }
        let entry = buckets.entries[index]
        var link = entry.firstRow
        while link != 0 {
            body(UInt32(rowBase) + link - 1)
            link = table.links[Int(link) - 1]
        }
        var reference = entry.firstSpan
        while reference != 0 {
            let span = buckets.span(reference)
            body(UInt32(rowBase) + span.row)
            reference = span.next
        }
    }

    /// The rows of a category bucket's newest record.
    func categoryRows(of key: BucketKey, _ record: BucketRecord) -> [CategoryRecord] {
        if let index = buckets.find(key), buckets.entries[index].hasRecord {
            let first = Int(record.categoryFirst)
            return buckets.categoryRows.array(first..<first + Int(record.categoryCount))
        }
        for layer in layers.reversed() where layer.bucketIndex(key) != nil {
            guard record.categoryFirst <= UInt64(layer.categoryRows.count),
                UInt64(record.categoryCount) <= UInt64(layer.categoryRows.count) - record.categoryFirst
            else {
                layer.fail()
                return []
            }
            return (0..<Int(record.categoryCount)).map {
                layer.load(layer.categoryRows, Int(record.categoryFirst) + $0)
            }
        }
        return []
    }
}
