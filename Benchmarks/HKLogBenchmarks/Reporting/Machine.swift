import HKLog

/// The machine that measures.
enum Machine {
    static var description: String {
        let model = line(of: "/proc/cpuinfo", beginning: "model name") ?? "unknown processor"
        let memory = line(of: "/proc/meminfo", beginning: "MemTotal").flatMap { text in
            text.split(separator: " ").compactMap { Double($0) }.first
        }
        let cores = lines(of: "/proc/cpuinfo").count { $0.hasPrefix("processor") }
        let kernel = lines(of: "/proc/sys/kernel/osrelease").first ?? "unknown kernel"
        let size = memory.map { NumberText.fixed($0 / 1_048_576, 0) + " GiB" } ?? "unknown memory"
        return "\(model), \(cores) processors, \(size), \(kernel)"
    }

    private static func line(of path: String, beginning: String) -> String? {
        guard let line = lines(of: path).first(where: { $0.hasPrefix(beginning) }),
            let colon = line.firstIndex(of: ":")
        else { return nil }
        return String(line[line.index(after: colon)...].drop { $0 == " " })
    }

    private static func lines(of path: String) -> [Substring] {
        guard let file = try? SystemFiles().openFully(path, .reading),
            let bytes = try? file.bytes(at: 0, count: 1 << 20)
        else { return [] }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    }
}
