/// Counts what was mended, skipped or kept oddly, by kind; on request it keeps each case until it is taken.
final class ProblemLog {
    /// The most kinds that are told apart: kinds bear names from the file.
    static let kindLimit = 1000
    private static let rest = "further kinds of problems"
    /// The most cases that wait to be taken: more come together only inside of a single element.
    static let caseLimit = 1 << 18

    private(set) var problems: [ImportReport.Problem] = []
    private var indices: [String: Int] = [:]
    private let keepsCases: Bool
    private(set) var cases: [ImportReport.Case] = []

    init(keepsCases: Bool = false) {
        self.keepsCases = keepsCases
    }

    /// Counts one case of a kind.
    func note(_ what: String, at offset: Int? = nil) {
        if keepsCases { keep(what, at: offset) }
        if let index = indices[what] {
            problems[index].count += 1
            return
        }
        let isRest = problems.count >= ProblemLog.kindLimit
        if isRest, let index = indices[ProblemLog.rest] {
            problems[index].count += 1
            return
        }
        let kind = isRest ? ProblemLog.rest : what
        indices[kind] = problems.count
        problems.append(ImportReport.Problem(what: kind, count: 1, offset: offset))
    }

    private func keep(_ what: String, at offset: Int?) {
        guard cases.count < ProblemLog.caseLimit else { return }
        let isLast = cases.count == ProblemLog.caseLimit - 1
        cases.append(
            ImportReport.Case(what: isLast ? "further cases in this element left out" : what, offset: offset))
    }

    /// Gives the cases since the last call away.
    func takeCases() -> [ImportReport.Case] {
        if cases.isEmpty { return [] }
        let taken = cases
        cases = []
        return taken
    }
}
