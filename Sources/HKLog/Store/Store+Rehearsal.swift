internal import HKLogFormat

extension Store {
    /// The digest after the log's frames were applied to fresh views in some order, repeats and all.
    ///
    /// For tests of what repeats may not change. `order` is given how many frames there are and names them from 0.
    package func digest(applying order: (Int) -> [Int]) throws(HKLogError) -> String {
        try withCore { core throws(HKLogError) in
            try core.commit()
            let loader = ViewLoader(
                files: core.files, storeID: core.storeID, settings: core.settings, calendar: core.calendar)
            let views = try loader.emptyViews()
            let reader = try LogReader(core.files, storeID: core.storeID)
            var run = FrameRun()
            var decoder = FrameDecoder()
            var frames: [FrameContent] = []
            while case .frames = try reader.read(into: &run) {
                for entry in run.entries {
                    guard case .frame(let header) = entry.record else { continue }
                    var content = FrameContent()
                    guard decoder.decodes(header, run.storedBytes(of: entry), into: &content) else {
                        throw HKLogError.undecodable(
                            header, segment: run.segment, byteOffset: entry.byteOffset)
                    }
                    frames.append(content)
                }
            }
            var counts = Views.Counts()
            for index in order(frames.count) { views.apply(frames[index], counts: &counts) }
            views.flush()
            return views.digestText
        }
    }
}
