import Foundation
import TapedeckLMDB
import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

@Suite(.offTasks) struct PageCheckTests {
    /// If a commit falls between the reads of two pages, the two values read may never have been in
    /// the file at the same time.
    @Test func changingPagesAreReadUntilTheySettle() throws {
        func found(_ readings: [[UInt64]], _ most: Int = 100) throws -> [UInt64] {
            var rest = readings
            return try PageCheck.settled(readingsMax: most) {
                () throws(LMDBError) -> [Result<UInt64, CancellationError>] in
                rest.removeFirst().map { .success($0) }
            }.compactMap { try? $0.get() }
        }
        #expect(try found([[10, 11], [10, 11]]) == [10, 11])
        #expect(try found([[10, 13], [12, 13], [14, 13], [14, 15], [14, 15]]) == [14, 15])
        #expect(try found([[10, 13], [12, 13], [14, 15]], 3) == [14, 15])
    }

    @Test func filesWrittenByLMDBAreSound() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        for round in 0..<40 {
            let events = (0..<100).map { number in
                ProposedEvent(
                    type: "Noted", tags: [Tag(unchecked: "note/\(number % 7)")],
                    payload: [UInt8](repeating: UInt8(number), count: number * round))
            }
            try log.appendBlocking(events)
            if round % 8 == 0 { try log.mergeIndex() }
        }
        let report = try PageCheck.run(directory.file("store/log.mdb"))
        #expect(report.problems == [])
        #expect(report.usedPages > 1_000)
    }

    /// LMDB need not write pages that a transaction allocates and frees again, even at the end of
    /// the file.
    @Test func fileWithoutItsLastFreePagesIsOpened() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("short.mdb")
        let environment = try Environment(path: path, options: .init(creates: true))
        let table = try environment.openTable("t", integerKeys: true)
        for isFilling in [true, false] {
            try environment.write { transaction in
                for key in UInt64(0)..<2_000 {
                    if isFilling {
                        try transaction.put(table, integer: key, [UInt8](repeating: 1, count: 300))
                    } else {
                        try transaction.delete(table, integer: key)
                    }
                }
            }
        }
        for key in UInt64(0)..<5 {
            try environment.write { try $0.put(table, integer: key, [7]) }
        }
        environment.close()
        let size = try Data(contentsOf: URL(fileURLWithPath: path)).count
        #expect(truncate(path, off_t(size - 2 * 4_096)) == 0)
        #expect(try PageCheck.run(path).problems == [])
        let again = try Environment(path: path, options: .init())
        let found = try again.openTable("t", integerKeys: true)
        #expect(try again.read { try $0.count(found) } == 5)
        again.close()
        #expect(truncate(path, 4 * 4_096) == 0)
        #expect(try !PageCheck.run(path).problems.isEmpty)
    }

    @Test func refusalOfAForeignFileNamesItsPage() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("noise.mdb")
        try Data(count: 20_000).write(to: URL(fileURLWithPath: path))
        #expect(try PageCheck.run(path).problems.map(\.page) == [0])
        let error = #expect(throws: LMDBError.self) {
            try Environment(path: path, options: .init())
        }
        #expect(error?.kind == .damaged)
        #expect(throws: LMDBError.self) { try PageCheck.run(directory.file("none")) }
    }

    @Test func checkPassesWhileTheFileIsBeingWritten() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        let group = DispatchGroup()
        DispatchQueue.global().async(group: group) {
            for number in 0..<300 {
                do { try log.appendBlocking([.sample(number)]) } catch { Issue.record(error) }
            }
        }
        for _ in 0..<40 { #expect(try PageCheck.run(directory.file("store/log.mdb")).isSound) }
        group.wait()
    }

    /// Opening a large file does not read its leaves, but it reads the branches that lead to them.
    ///
    /// The tables of a large file are checked at the same time, so a page of one table that another
    /// table refers to must be found, too.
    @Test func invalidBranchOfALargeFileIsRefused() throws {
        let directory = try TemporaryDirectory()
        let (path, small) = (directory.file("large.mdb"), directory.file("small.mdb"))
        let environment = try Environment(path: path, options: .init(creates: true))
        for name in ["first", "second"] {
            let table = try environment.openTable(name, integerKeys: true)
            try environment.write { transaction in
                for key in UInt64(0)..<6_000 {
                    try transaction.put(table, integer: key, [UInt8](repeating: 1, count: 1_500))
                }
            }
        }
        environment.close()
        let sound = try Data(contentsOf: URL(fileURLWithPath: path))
        try sound.write(to: URL(fileURLWithPath: small))
        // A hole after the pages makes the file large.
        #expect(truncate(path, 200 << 20) == 0)
        #expect(try PageCheck.run(path, extent: .quick).problems == [])
        #expect(try PageCheck.run(path, extent: .quick).usedPages > 6_000)
        try Environment(path: path, options: .init()).close()

        let branches = Self.branches(sound)
        let files = try [path, small].map { try #require(FileHandle(forUpdatingAtPath: $0)) }
        let leaves = [branches.first, branches.last].compactMap { $0 }.map {
            sound.child($0.page, $0.nodes[0])
        }
        var refused = 0
        for branch in [branches.first, branches[branches.count / 2], branches.last].compactMap({
            $0
        }) {
            let last = branch.nodes.last ?? 0
            let children = [branch.nodes[0], last].map { sound.child(branch.page, $0) }
            let targets = [0, 1, UInt64(branch.page), children[0], 100_000, .max >> 16] + leaves
            for target in targets where target != children[1] {
                for file in files { try file.write(child: target, branch.page, last) }
                let everything = try PageCheck.run(path)
                if target < 100_000 {
                    #expect(try PageCheck.run(small).problems == everything.problems)
                }
                #expect(try PageCheck.run(path, extent: .quick).isSound == everything.isSound)
                if !everything.isSound {
                    refused += 1
                    let error = #expect(throws: LMDBError.self) {
                        try Environment(path: path, options: .init())
                    }
                    #expect(error?.kind == .damaged)
                }
                for file in files { try file.write(child: children[1], branch.page, last) }
            }
        }
        #expect(refused >= 14)
        #expect(try PageCheck.run(path).problems == [])
    }

    /// If a bit in the root of a tree changes, the report names the number that differs.
    @Test func damagedRootIsDescribedWithoutContradiction() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("roots.mdb")
        let environment = try Environment(path: path, options: .init(creates: true))
        let full = try environment.openTable("full", integerKeys: true)
        _ = try environment.openTable("none", integerKeys: true)
        // Later commits put pages into the free list.
        for key in UInt64(0)..<20 {
            try environment.write { transaction in
                try transaction.put(
                    full, integer: key, [UInt8](repeating: 1, count: key == 9 ? 9_000 : 1_500))
            }
        }
        environment.close()
        let sound = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(try PageCheck.run(path).problems == [])
        let file = try #require(FileHandle(forUpdatingAtPath: path))
        defer { try? file.close() }
        func write(_ byte: UInt8, at place: Int) throws {
            try file.seek(toOffset: UInt64(place))
            try file.write(contentsOf: [byte])
        }
        func problems(_ place: Int, _ bit: Int) throws -> [String] {
            try write(sound[place] ^ UInt8(1 << bit), at: place)
            let report = try PageCheck.run(path)
            try write(sound[place], at: place)
            return report.problems.map(\.what)
        }
        let fields = [
            (6..<8, "depth"), (8..<16, "branch pages"), (16..<24, "leaf pages"),
            (24..<32, "overflow pages"), (32..<40, "entries"), (40..<48, "page"),
        ]
        let trees = Self.trees(sound)
        #expect(trees.keys.sorted() == ["full", "none", "the free list", "the list of tables"])
        for (name, root) in trees {
            for (bytes, field) in fields {
                for (place, bit) in bytes.flatMap({ place in (0..<8).map { (place, $0) } }) {
                    let found = try problems(root + place, bit)
                    let context = Comment(rawValue: "\(name), byte \(place), bit \(bit): \(found)")
                    for what in found {
                        let counts = what.firstMatch(of: #/should have (\d+) .+, but has (\d+)/#)
                        if let counts { #expect(counts.1 != counts.2, context) }
                    }
                    // A page of an older commit can be a valid root.
                    if name == "none" || (8..<40).contains(place) {
                        #expect(found.count == 1 && found[0].contains(field), context)
                    }
                }
            }
        }
        let none = try #require(trees["none"])
        #expect(try problems(none + 6, 1) == ["table none has a depth of 2, but no pages"])
        let page = UInt64.max - 1 << 12
        #expect(
            try problems(none + 41, 4)
                == ["table none has page \(page) as its root, but an invalid depth of 0"])
    }

    /// Returns the places of the roots in the newest commit of a file with few tables.
    private static func trees(_ file: Data) -> [String: Int] {
        let meta = file.word(144) > file.word(4_096 + 144) ? 0 : 4_096
        var trees = ["the free list": meta + 40, "the list of tables": meta + 88]
        let page = Int(file.word(meta + 128)) * 4_096
        for place in stride(from: 16, to: Int(file.word(page + 12)), by: 2) {
            let name = page + Int(file.word(page + place)) + 8
            let count = Int(file.word(name - 2))
            trees[String(decoding: file[name..<name + count], as: UTF8.self)] = name + count
        }
        return trees
    }

    private static func branches(_ file: Data) -> [(page: Int, nodes: [Int])] {
        stride(from: 2 * 4_096, to: file.count, by: 4_096).compactMap { start in
            guard file.word(start + 10) == 1, file.word(start) == UInt16(start / 4_096 & 0xFFFF)
            else {
                return nil
            }
            let end = Int(file.word(start + 12))
            let nodes = stride(from: 16, to: end, by: 2).map { Int(file.word(start + $0)) }
            return nodes.count > 1 ? (start / 4_096, nodes) : nil
        }
    }
}

extension Data {
    fileprivate func word(_ offset: Int) -> UInt16 {
        UInt16(self[offset]) | UInt16(self[offset + 1]) << 8
    }

    /// The page that a node of a branch points to.
    fileprivate func child(_ page: Int, _ node: Int) -> UInt64 {
        let place = page * 4_096 + node
        return UInt64(word(place)) | UInt64(word(place + 2)) << 16 | UInt64(word(place + 4)) << 32
    }
}

extension FileHandle {
    fileprivate func write(child: UInt64, _ page: Int, _ node: Int) throws {
        try seek(toOffset: UInt64(page * 4_096 + node))
        try write(contentsOf: Data((0..<6).map { UInt8(truncatingIfNeeded: child >> (8 * $0)) }))
    }
}
