internal import Foundation
internal import TapedeckLMDB
internal import TapedeckLog
internal import TapedeckModel

extension ProjectionRunner {
    /// Opens the files of the drivers, and rebuilds files that are missing or far out of date.
    ///
    /// If files are missing, waits for a rebuild in progress in any process.
    func openFiles(
        _ wanted: [ProjectionDriver], _ options: RebuildOptions = RebuildOptions()
    ) throws {
        while try !unserved(wanted).isEmpty {
            options.progress(try beginning())
            let lock = try StoreLock.rebuild(log.directory, waits: true)
            defer { withExtendedLifetime(lock) {} }
            let missing = try unserved(wanted)
            if !missing.isEmpty {
                _ = try buildAndFlip(
                    missing, rebuild(missing, .none, options, reportsProjections: false))
            }
        }
        while true {
            let late = try farBehind(wanted)
            guard !late.isEmpty else { return }
            options.progress(try beginning())
            // Wait for this process's own rebuild; folding events at the same time would only slow
            // down the rebuild.
            let isUnderWay = isRebuilding(late)
            do {
                let lock = try StoreLock.rebuild(log.directory, waits: isUnderWay)
                defer { withExtendedLifetime(lock) {} }
                if isUnderWay { continue }
                _ = try buildAndFlip(
                    late, rebuild(late, .none, options, reportsProjections: false))
                return
            } catch let error as ProjectionError where error.code == .busy {
                // Another process is rebuilding projections, but perhaps not these, so fold the
                // events instead of waiting.
                return
            }
        }
    }

    /// Returns the drivers for which a rebuild is faster than folding the outstanding events.
    private func farBehind(_ drivers: [ProjectionDriver]) throws -> [ProjectionDriver] {
        let head = try log.currentHead().rawValue
        return try drivers.filter { driver in
            let reached = try checkpoint(of: driver)?.position ?? 0
            let behind = head - min(head, reached)
            return behind > ProjectionRunner.followedEventsMax && behind > head / 2
        }
    }

    /// Returns whether this process is rebuilding the tables of all the drivers.
    func isRebuilding(_ drivers: [ProjectionDriver]) -> Bool {
        rebuilding.withLock { $0.isSuperset(of: drivers.lazy.map(\.fingerprint)) }
    }

    /// Returns the progress to report before a rebuild, which may have to wait for another rebuild.
    private func beginning() throws -> RebuildProgress {
        RebuildProgress(phase: "scan", done: 0, total: try log.currentHead().rawValue)
    }

    /// Opens the usable files of the drivers, and returns the drivers without a usable file.
    private func unserved(_ wanted: [ProjectionDriver]) throws -> [ProjectionDriver] {
        opening.lock()
        defer { opening.unlock() }
        try checkOpen()
        return try wanted.filter { driver in
            guard let entry = try log.viewsEntry(driver.fingerprint) else { return true }
            if files.withLock({ $0[driver.fingerprint]?.number }) != entry.number {
                guard try openIfServing(entry) else { return true }
            }
            guard try !fitsLog(driver) else { return false }
            try forgetHistory()
            return true
        }
    }

    /// Opens the file of a catalogue entry for all drivers that it serves; returns false if the
    /// file must be rebuilt.
    ///
    /// The caller holds `opening`.
    func openIfServing(_ entry: ViewsEntry) throws -> Bool {
        let path = log.directory.views(entry.number)
        guard entry.boot.isEmpty || entry.boot == StoreDirectory.bootID,
            FileManager.default.fileExists(atPath: path)
        else { return false }
        let served = try drivers.map(\.fingerprint).filter {
            try self.log.viewsEntry($0)?.number == entry.number
        }
        do {
            let file = try ViewsFile(
                path: path, number: entry.number, projections: served, creating: false)
            guard try file.environment.read({ try file.log($0) }) == ViewsFile.name(of: log) else {
                file.close()
                return false
            }
            let fitting = try file.environment.read { views in
                try served.filter { try self.hasHistory($0, file, views) }
            }
            files.withLock { files in
                for fingerprint in served {
                    files[fingerprint] = fitting.contains(fingerprint) ? file : nil
                }
            }
            return true
        } catch let error as LMDBError where error.meansRebuild {
            return false
        }
    }

    /// Returns whether this log contains the events from which a projection in a file was folded.
    ///
    /// If the log was restored to an earlier state, it may have continued with other events.
    private func hasHistory(
        _ projection: Digest16, _ file: ViewsFile, _ views: borrowing ReadTransaction
    ) throws -> Bool {
        guard let reached = try file.checkpoint(projection, views),
            let history = try file.history(projection, views)
        else { return false }
        return try log.read { records in
            let end = try self.log.end(records)
            guard reached.position <= end.position, reached.overrides <= end.change else {
                return false
            }
            return history.fits(
                try self.log.historyMark(
                    through: reached.position, change: reached.overrides, records))
        }
    }

    /// Returns whether the log still contains the last event that was folded into an open file.
    private func fitsLog(_ driver: ProjectionDriver) throws -> Bool {
        do {
            guard let reached = try checkpoint(of: driver) else { return false }
            return try log.read { records in
                let end = try self.log.end(records)
                let checksum = try self.log.checksum(at: reached.position, records)
                return reached.overrides <= end.change && checksum == reached.checksum
            }
        } catch let error as LMDBError where error.meansRebuild {
            return false
        }
    }

    /// Returns the open files that serve the drivers according to the catalogue; nil if one of
    /// these files is not open.
    func serving(
        _ wanted: [ProjectionDriver]
    ) throws -> [(file: ViewsFile, drivers: [ProjectionDriver])]? {
        try checkOpen()
        let open = files.withLock { $0 }
        var groups: [UInt64: (file: ViewsFile, drivers: [ProjectionDriver])] = [:]
        for driver in wanted {
            guard let file = open[driver.fingerprint],
                try log.viewsEntry(driver.fingerprint)?.number == file.number
            else { return nil }
            groups[file.number, default: (file, [])].drivers.append(driver)
        }
        return groups.sorted { $0.key < $1.key }.map(\.value)
    }

    func checkpoint(of driver: ProjectionDriver) throws -> ProjectionCheckpoint? {
        guard let file = files.withLock({ $0[driver.fingerprint] }) else { return nil }
        return try file.environment.read { try file.checkpoint(driver.fingerprint, $0) }
    }

    /// Drops a damaged file, so that it is rebuilt for the drivers.
    func forget(_ file: ViewsFile, _ drivers: [ProjectionDriver]) throws {
        opening.lock()
        defer { opening.unlock() }
        let served = try drivers.map(\.fingerprint).filter {
            try log.viewsEntry($0)?.number == file.number
        }
        try log.removeViews(for: served)
        files.withLock { files in
            for fingerprint in served { files[fingerprint] = nil }
        }
    }

    // MARK: - Rebuilding

    /// Builds the drivers' tables in a new file, brings the file up to date, and switches to it.
    ///
    /// The caller holds the rebuild lock. During the build, live tables can be read and updated.
    func buildAndFlip(
        _ drivers: [ProjectionDriver], _ rebuild: Rebuild
    ) throws -> Rebuild.Report {
        guard !drivers.isEmpty else { return Rebuild.Report() }
        rebuilding.withLock { $0.formUnion(drivers.map(\.fingerprint)) }
        defer { rebuilding.withLock { $0.subtract(drivers.map(\.fingerprint)) } }
        try removeUnusedFiles()
        let number = try log.newViewsNumber()
        let path = log.directory.views(number)
        var report: Rebuild.Report
        let begun: ContinuousClock.Instant
        let file = try ProjectionRunner.newFile(path, number: number, drivers)
        do {
            report = try rebuild.run(into: file)
            begun = .now
            // Fold the events that were appended during the rebuild. Events that arrive between
            // now and the switch are folded later.
            try advanceFully(file, drivers, to: due())
            try flip(to: file, drivers)
        } catch {
            file.close()
            ProjectionRunner.unlinkViews(path)
            throw error
        }
        // The new file is in use even if unused files cannot be removed; the next rebuild removes
        // them.
        try? removeUnusedFiles()
        report.seconds.append(("flip", (ContinuousClock.now - begun).seconds))
        return report
    }

    private func flip(to file: ViewsFile, _ drivers: [ProjectionDriver]) throws {
        try file.environment.write { transaction in
            try file.setLog(ViewsFile.name(of: log), transaction)
            try DiffRing(file).appendReset(transaction)
        }
        opening.lock()
        defer { opening.unlock() }
        try checkOpen()
        try log.setViews(
            ViewsEntry(number: file.number, boot: StoreDirectory.bootID),
            for: drivers.map(\.fingerprint))
        files.withLock { files in
            for driver in drivers { files[driver.fingerprint] = file }
        }
    }

    /// Removes unused views files, which were left by an interrupted rebuild or replaced by a
    /// switch.
    ///
    /// The caller holds the rebuild lock, so none of the files is being built. A process that still
    /// has an unused file open can keep reading the file after the file's name is removed.
    private func removeUnusedFiles() throws {
        let used = try log.viewsNumbers()
        let names = try log.directory.names()
        for name in names where name.hasPrefix("views-") {
            guard let number = StoreDirectory.viewsNumber(ofFile: name), !used.contains(number)
            else {
                continue
            }
            unlink(log.directory.path + "/" + name)
        }
        // Remove scratch files only while no process is verifying or replaying: all remaining
        // scratch files then come from processes that died.
        guard names.contains(where: { $0.hasPrefix("scratch-") }),
            let lock = try StoreLock.allScratch(log.directory)
        else { return }
        defer { withExtendedLifetime(lock) {} }
        for name in names where name.hasPrefix("scratch-") {
            unlink(log.directory.path + "/" + name)
        }
    }

    /// Creates a views file.
    ///
    /// If the file cannot be created, for example because the disk is full, the method removes the
    /// incomplete file.
    static func newFile(
        _ path: String, number: UInt64, _ drivers: [ProjectionDriver]
    ) throws -> ViewsFile {
        do {
            return try ViewsFile(
                path: path, number: number, projections: drivers.map(\.fingerprint), creating: true)
        } catch {
            unlinkViews(path)
            throw error
        }
    }

    static func unlinkViews(_ path: String) {
        for name in [path, Environment.lockFile(of: path)] { unlink(name) }
    }
}

extension LMDBError {
    /// Whether the error means that the views file itself is unusable, rather than its directory or
    /// disk.
    fileprivate var meansRebuild: Bool {
        switch kind {
        case .damaged, .incompatible, .notFound, .unusablePath, .unexpected: true
        default: false
        }
    }
}
