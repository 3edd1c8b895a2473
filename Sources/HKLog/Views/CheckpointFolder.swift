internal import HKLogFormat

/// The checkpoints of a store: layer files in its `views` folder, each naming the one below it.
///
/// Never truth: whatever does not fit is passed over, and the log is replayed. Deleting the folder loses nothing.
struct CheckpointFolder {
    static let name = "views"
    static let suffix = ".ckp"

    let files: LogFiles
    let storeID: RawUUID

    var path: String { "\(files.store)/\(CheckpointFolder.name)" }

    /// Names of layer files, the one that reaches furthest first.
    func names() -> [String] {
        let names = (try? files.layer.names(in: path)) ?? []
        return names.filter { $0.hasSuffix(CheckpointFolder.suffix) }.sorted(by: >)
    }

    /// Maps one layer; `nil` when it is no sound layer of this version.
    func open(_ name: String) -> LayerFile? {
        guard let file = try? files.layer.openFully("\(path)/\(name)", .reading),
            let mapping = try? file.map(.readOnly)
        else { return nil }
        return LayerFile(name: name, mapping: mapping)
    }

    /// The chain of layers that ends with a file, the oldest first; `nil` when it is not whole, of another store
    /// or another definition.
    func chain(endingWith name: String, definition: RawDigest?) -> [LayerFile]? {
        var chain: [LayerFile] = []
        var next = name
        while !next.isEmpty {
            guard chain.count < 64, !next.contains("/"), let layer = open(next) else { return nil }
            let header = layer.header
            guard header.storeID == (storeID.first, storeID.second) else { return nil }
            if let definition, header.definition != definition { return nil }
            if let above = chain.last {
                guard above.header.parentChecksum == header.checksum,
                    above.header.fromAnchor == header.toAnchor
                else { return nil }
            }
            chain.append(layer)
            next = header.parentName
        }
        chain.reverse()
        var (rows, batches, extras) = (0, 0, 0)
        for layer in chain {
            guard layer.header.rowBase == UInt64(rows), layer.header.batchBase == UInt64(batches),
                layer.header.extraBase == UInt64(extras)
            else { return nil }
            rows += layer.rowCount
            batches += layer.batchTable.count
            extras += layer.extraTable.count
        }
        guard chain.first?.header.fromAnchor == 0 else { return nil }
        return chain
    }

    /// Writes the views as a new newest layer, durable under its name, and removes files that nothing needs any
    /// more.
    ///
    /// The new chain's names, or `nil` when another process is writing one just now.
    func write(_ views: Views, definition: RawDigest, whole: Bool) throws(SystemError) -> String? {
        if try !files.layer.exists(path) {
            try files.layer.makeDirectory(path)
            try files.layer.synchronizeDirectory(files.store)
        }
        let folder = try files.layer.openFully(path, .directory)
        guard try folder.tryLock() else { return nil }
        let random = try files.layer.randomWord()
        let name =
            LogFiles.digits(views.anchor) + "-" + hexadecimal(random)
            + CheckpointFolder.suffix
        let temporary = "\(path)/\(name).tmp"
        var writer = LayerWriter(views, whole: whole)
        do throws(SystemError) {
            let file = try files.layer.openFully(temporary, .creating)
            try writer.write(to: file, storeID: (storeID.first, storeID.second), definition: definition)
            // What was read from a bad block may not get a good checksum under a name that counts.
            guard !views.isDamaged else { throw SystemError(.pread, ErrorNumber.inputOutput) }
            try file.synchronizeFully()
            try files.layer.rename(temporary, to: "\(path)/\(name)")
        } catch {
            try? files.layer.unlinkIfThere(temporary)
            throw error
        }
        try files.layer.synchronizeDirectory(path)
        clean(keeping: name, definition: definition)
        return name
    }

    /// Removes what a process that was killed while it wrote a checkpoint has left.
    func removeTemporaries() {
        let names = ((try? files.layer.names(in: path)) ?? []).filter {
            $0.hasSuffix(CheckpointFolder.suffix + ".tmp")
        }
        // Whoever is writing one just now holds the folder.
        guard !names.isEmpty, let folder = try? files.layer.openFully(path, .directory),
            (try? folder.tryLock()) == true
        else { return }
        for name in names { try? files.layer.unlinkIfThere("\(path)/\(name)") }
    }

    /// Removes every file that the chain does not need.
    ///
    /// A reader that has one mapped keeps it.
    private func clean(keeping newest: String, definition: RawDigest) {
        guard let chain = chain(endingWith: newest, definition: definition) else { return }
        let kept = Set(chain.map(\.name))
        for name in (try? files.layer.names(in: path)) ?? []
        where !kept.contains(name)
            && (name.hasSuffix(CheckpointFolder.suffix) || name.hasSuffix(CheckpointFolder.suffix + ".tmp"))
        {
            if let layer = open(name), layer.header.toAnchor > chain.last?.header.toAnchor ?? 0,
                layer.header.storeID == (storeID.first, storeID.second)
            {
                // It has seen batches that the log has lost: it may be the only copy of what was in them.
                try? files.layer.rename("\(path)/\(name)", to: "\(path)/\(name).aside")
            } else {
                try? files.layer.unlinkIfThere("\(path)/\(name)")
            }
        }
    }

    /// The point furthest ahead that a sound checkpoint of the store was taken at; `nil` where there is none.
    func furthest() -> (anchor: UInt64, nonce: UInt64)? {
        for name in names() {
            guard let layer = open(name), layer.header.storeID == (storeID.first, storeID.second) else {
                continue
            }
            return (layer.header.toAnchor, layer.header.nonce)
        }
        return nil
    }
}
