/// Bytes that are no part of the log any more and are kept all the same, in files of their own beside the segments.
extension LogFiles {
    /// Copies a range of a file, without the zeros at its end, into a file of its own, and syncs it.
    ///
    /// Answers the new file's name. The same bytes under the same name are kept once, other bytes never overwritten:
    /// that makes an interrupted recovery repeatable. Nil when all bytes are zero.
    func setAside(_ file: any OpenFile, _ range: Range<Int>, named name: String) throws(SystemError)
        -> String?
    {
        guard let end = try endWithoutZeros(file, range) else { return nil }
        let range = range.lowerBound..<end
        for number in 1... {
            let candidate = number == 1 ? name : "\(name)-\(number)"
            guard try layer.exists(path(candidate)) else {
                try write(file, range, to: candidate)
                return candidate
            }
            if try isSame(try layer.openFully(path(candidate), .reading), file, range) { return candidate }
        }
        return nil
    }

    /// Moves a whole file aside; answers its new name.
    func setAsideWhole(_ name: String, as kind: String) throws(SystemError) -> String {
        var number = 1
        while true {
            let candidate = number == 1 ? "\(name).\(kind)" : "\(name).\(kind)-\(number)"
            if try !layer.exists(path(candidate)) {
                try layer.rename(path(name), to: path(candidate))
                try layer.synchronizeDirectory(log)
                return candidate
            }
            number += 1
        }
    }

    /// Names of the files in the log directory that are kept aside.
    ///
    /// They may hold data that was deleted since: `compact` names them, and removes them on request.
    package func setAsideNames() throws(HKLogError) -> [String] {
        do throws(SystemError) {
            return try layer.names(in: log).filter(Self.isSetAsideName).sorted()
        } catch {
            throw .system(error, "list the log", path: log)
        }
    }

    /// Removes all files that are kept aside.
    package func purgeSetAside() throws(HKLogError) {
        let names = try setAsideNames()
        guard !names.isEmpty else { return }
        do throws(SystemError) {
            for name in names { try layer.unlinkIfThere(path(name)) }
            try layer.synchronizeDirectory(log)
        } catch {
            throw .system(error, "remove set-aside files", path: log)
        }
    }

    private static func isSetAsideName(_ name: String) -> Bool {
        let marks = [
            ".torn-", ".damaged-", ".incomplete", ".foreign", ".duplicate", ".misnamed", ".unreadable",
        ]
        return marks.contains { mark in
            name.utf8.count > mark.utf8.count
                && (0...name.utf8.count - mark.utf8.count).contains { start in
                    name.utf8.dropFirst(start).starts(with: mark.utf8)
                }
        }
    }

    private func endWithoutZeros(_ file: any OpenFile, _ range: Range<Int>) throws(SystemError) -> Int? {
        var end = range.upperBound
        while end > range.lowerBound {
            let start = max(range.lowerBound, end - (1 << 20))
            let bytes = try file.bytes(at: start, count: end - start)
            if isZero(bytes.span) {
                end = start
                continue
            }
            if let last = bytes.lastIndex(where: { $0 != 0 }) { return start + last + 1 }
            end = start
        }
        return nil
    }

    private func write(_ file: any OpenFile, _ range: Range<Int>, to name: String) throws(SystemError) {
        let temporary = path(name + ".tmp")
        try layer.unlinkIfThere(temporary)
        let copy = try layer.openFully(temporary, .creating)
        var byteOffset = range.lowerBound
        while byteOffset < range.upperBound {
            let bytes = try file.bytes(at: byteOffset, count: min(1 << 20, range.upperBound - byteOffset))
            guard !bytes.isEmpty else { break }
            try copy.writeFully(bytes.span, at: byteOffset - range.lowerBound)
            byteOffset += bytes.count
        }
        try copy.synchronizeFully()
        try layer.rename(temporary, to: path(name))
        try layer.synchronizeDirectory(log)
    }

    private func isSame(_ copy: any OpenFile, _ file: any OpenFile, _ range: Range<Int>) throws(SystemError)
        -> Bool
    {
        guard try copy.status().byteCount == range.count else { return false }
        var byteOffset = 0
        while byteOffset < range.count {
            let count = min(1 << 20, range.count - byteOffset)
            let bytes = try copy.bytes(at: byteOffset, count: count)
            guard bytes == (try file.bytes(at: range.lowerBound + byteOffset, count: count)), !bytes.isEmpty
            else {
                return false
            }
            byteOffset += bytes.count
        }
        return true
    }
}
