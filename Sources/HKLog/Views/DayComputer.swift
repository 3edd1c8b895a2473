internal import HKLogFormat

/// Computes day buckets from their rows: the kernel with the memory that one thread needs for it.
///
/// Reads the views and changes nothing in them.
struct DayComputer {
    struct Result {
        var record = BucketRecord()
        /// The rows of a category bucket; the record does not know yet where they will stand.
        var categories: [CategoryRow] = []
    }

    private var kernel = StatisticsKernel()
    private var samples: [KernelSample] = []
    private var recentDay: (number: Int32, range: Range<Int64>) = (0, 0..<0)

    init() {}

    /// What a bucket of the views' table holds now.
    mutating func compute(_ bucket: Int, _ views: Views) -> Result {
        let entry = views.buckets.entries[bucket]
        let key = entry.key
        let range = range(of: key.day, views)
        var result = Result()
        switch views.symbols.types[Int(key.type)].statistic {
        case .none: return result
        case .cumulative:
            gather(entry, views, withUUIDs: false)
            let samples = samples
            guard let found = kernel.cumulativeBucket(of: samples.span, in: range) else { return result }
            (result.record.count, result.record.value) = (found.count, found.sum)
        case .discrete(let style):
            gather(entry, views, withUUIDs: true)
            let samples = samples
            guard
                let found = kernel.discreteBucket(of: samples.span, in: range, mean: DiscreteMean(style))
            else { return result }
            (result.record.count, result.record.value) = (found.count, found.average)
            (result.record.minimum, result.record.maximum) = (found.minimum, found.maximum)
            result.record.mostRecent = found.mostRecent
        case .category:
            var samples: [KernelCategorySample] = []
            views.forEachShownRow(key) { _, view in samples.append(views.categorySample(view)) }
            let isSleep = views.symbols.types[Int(key.type)].isSleep
            result.categories = kernel.categoryBucket(
                of: samples.span, in: range, layers: isSleep ? .sleepAnalysis : .one)
            result.record.categoryCount = UInt32(result.categories.count)
            for row in result.categories { result.record.count += row.count }
            result.record.hasSeveralSources = samples.contains { $0.rank != samples[0].rank } ? 1 : 0
            result.record.digest = digest(key, result, views)
            return result
        }
        let first = samples.first?.rank
        result.record.hasSeveralSources = samples.contains { $0.rank != first } ? 1 : 0
        result.record.digest = digest(key, result, views)
        return result
    }

    /// The range of a day, mostly that of the day asked for before: types share their days.
    private mutating func range(of day: Int32, _ views: Views) -> Range<Int64> {
        if day != recentDay.number || recentDay.range.isEmpty { recentDay = (day, views.dayRange(day)) }
        return recentDay.range
    }

    /// Rows of a day as the kernel takes them, into `samples`.
    ///
    /// Those whose unit does not fit stay out.
    private mutating func gather(_ entry: BucketTable.Entry, _ views: Views, withUUIDs: Bool) {
        samples.removeAll(keepingCapacity: true)
        if views.layers.isEmpty && views.symbols.types[Int(entry.key.type)].longRows.isEmpty {
            views.table.gather(
                entry, buckets: views.buckets, shapes: views.kernelShapes, extras: views.extras,
                withUUIDs: withUUIDs,
                into: &samples)
        } else {
            views.forEachShownRow(entry.key) { _, view in
                if let sample = views.kernelSample(view) { samples.append(sample) }
            }
        }
    }

    private func digest(_ key: BucketKey, _ result: Result, _ views: Views) -> RawDigest {
        let record = result.record
        if record.isEmpty { return RawDigest(low: 0, high: 0) }
        let type = views.symbols.types[Int(key.type)].digest
        var hasher = ContentHasher(domain: DigestDomain.bucket)
        hasher.add(type.low)
        hasher.add(type.high)
        hasher.add(UInt64(bitPattern: Int64(key.day)))
        hasher.add(record.count)
        hasher.add(record.value.bitPattern)
        hasher.add(record.minimum.bitPattern)
        hasher.add(record.maximum.bitPattern)
        hasher.add(record.mostRecent.bitPattern)
        for row in result.categories {
            hasher.add(UInt64(bitPattern: row.value))
            hasher.add(row.count)
            hasher.add(row.microseconds)
        }
        return hasher.finish()
    }
}

/// A second thread that computes some days while the first one computes others.
struct DayThread: ~Copyable {
    private let work: Work
    private let thread: WorkerThread

    /// Sound to send: until `finish` has joined the thread, both threads only read the views, and `results` is the
    /// second one's alone.
    private final class Work: @unchecked Sendable {
        let views: Views
        let days: ArraySlice<UInt32>
        var results: [DayComputer.Result] = []

        init(_ views: Views, _ days: ArraySlice<UInt32>) {
            self.views = views
            self.days = days
        }

        func run() {
            var computer = DayComputer()
            results.reserveCapacity(days.count)
            for index in days { results.append(computer.compute(Int(index), views)) }
        }
    }

    init(views: Views, days: ArraySlice<UInt32>) throws(HKLogError) {
        let work = Work(views, days)
        self.work = work
        thread = try WorkerThread { work.run() }
    }

    /// Waits for the days' results, in the order given.
    consuming func finish() -> [DayComputer.Result] {
        thread.join()
        return work.results
    }
}
