/// Counts what was mended, skipped or kept oddly, by kind.
final class ProblemLog {
    /// The most kinds that are told apart: kinds bear names from the file.
    static let kindLimit = 1000
    private static let rest = "further kinds of problems"

    private(set) var problems: [ImportReport.Problem] = []
    private var indices: [String: Int] = [:]

    init() {}

    /// Counts one case of a kind.
    func note(_ what: String, at offset: Int? = nil) {
        if let index = indices[what] {
            problems[index].count += 1
            return
        }
        if problems.count >= ProblemLog.kindLimit && what != ProblemLog.rest {
            note(ProblemLog.rest, at: offset)
            return
        }
        indices[what] = problems.count
        problems.append(ImportReport.Problem(what: what, count: 1, offset: offset))
    }
}
