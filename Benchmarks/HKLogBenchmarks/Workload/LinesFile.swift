import HKLog
import HKLogJSONLines
import HKLogTestSupport

/// Writes the workload as JSON Lines, a batch a line.
enum LinesFile {
    static func write(_ settings: WorkerSettings) throws -> Figures {
        let layer = SystemFiles()
        try layer.unlinkIfThere(settings.path)
        let file = try layer.openFully(settings.path, .creating)
        var maker = WorkloadBatches(
            sampleCount: settings.samples, seed: settings.seed, batchSize: settings.batchSize)
        var writer = BatchWriter()
        var bytes: [UInt8] = []
        var offset = 0
        while let batch = maker.next() {
            bytes.removeAll(keepingCapacity: true)
            writer.append(batch, to: &bytes)
            try file.writeFully(bytes.span, at: offset)
            offset += bytes.count
        }
        var figures = Figures()
        figures.append("inputBytes", offset)
        return figures
    }
}
