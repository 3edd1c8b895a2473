/// What can be measured.
enum Run: String, CaseIterable {
    case append
    case appendWithViews = "append+views"
    case sync
    case replay
    case smallBatches = "small-batches"
    case open
    case daily
    case importing = "import"
    case json
    case sizes
    case growth

    func execute(_ bench: inout Bench) throws {
        switch self {
        case .append: try bench.append()
        case .appendWithViews: try bench.appendWithViews()
        case .sync: try bench.sync()
        case .replay: try bench.replay()
        case .smallBatches: try bench.smallBatches()
        case .open: try bench.open()
        case .daily: try bench.daily()
        case .importing: try bench.importing()
        case .json: try bench.json()
        case .sizes: try bench.sizes()
        case .growth: try bench.growth()
        }
    }
}
