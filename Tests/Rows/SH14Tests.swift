import Foundation
import Tapedeck
import TapedeckTesting
import Testing

/// SH14: Pictures are stored by content, within a budget, and are available without a network.
@Suite struct SH14Tests {
    private let place: TemporaryStore
    private let store: TapedeckStore

    init() throws {
        place = try TemporaryStore("sh14")
        store = try place.open()
    }

    private func cache(bytesMax: UInt64 = ImageCache.bytesMaxDefault) -> ImageCache {
        let clock = place.clock
        return ImageCache(
            store: store.log.directory.path, bytesMax: bytesMax, now: { clock.milliseconds })
    }

    /// Returns the bytes of a picture.
    private func picture(_ number: Int, _ count: Int = 1_000) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number) }
    }

    private func url(_ number: Int) -> String { "https://images.example.org/\(number).jpg" }

    private func wait(minutes: Int) { place.clock.advance(by: .seconds(60 * minutes)) }

    /// All files in the cache's directory and its subdirectories.
    private var files: [String] {
        let path = store.log.directory.path + "/" + ImageCache.directoryName
        let all = FileManager.default.enumerator(atPath: path)?.allObjects as? [String] ?? []
        return all.filter { $0.split(separator: "/").count > 2 }
    }

    @Test func cachedPicturesAreAvailableOffline() async throws {
        let user = UserObserved.with {
            ($0.user, $0.username) = ("7", "ada")
            $0.imageURL = url(1)
        }
        try await store.log.append([try ProposedEvent(observation: user, observedAt: 1)])
        let shown = try await store.query { try VideoQueries($0).user("7") }
        let address = try #require(shown?.imageUrl)
        let images = cache()
        #expect(try images.image(at: address) == nil)
        let kept = try images.keep(picture(1), at: address)
        // A new cache, as in another process, reads the picture without a network.
        let found = try #require(try cache().image(at: address))
        #expect(found == kept)
        #expect(FileManager.default.contents(atPath: found.path) == Data(picture(1)))
        #expect(try cache().bytes(at: address) == picture(1))
        // A new picture at the same URL replaces the old one.
        try images.keep(picture(2), at: address)
        #expect(try cache().bytes(at: address) == picture(2))
        #expect(images.images().map(\.url) == [address])
    }

    @Test func equalPicturesAreStoredOnce() throws {
        let images = cache()
        for number in 1...3 { try images.keep(picture(0), at: url(number)) }
        #expect(Set(images.images().map(\.blob)).count == 1)
        #expect(files.count == 4)
        // The picture is removed together with its last URL.
        #expect(images.evict(to: 999).count == 3)
        #expect(files.isEmpty)
    }

    @Test func leastRecentlyUsedPicturesAreEvictedFirst() throws {
        let images = cache(bytesMax: 10_000)
        for number in 1...10 {
            try images.keep(picture(number), at: url(number))
            wait(minutes: 2)
        }
        #expect(images.images().count == 10)
        #expect(try images.image(at: url(1)) != nil)
        wait(minutes: 2)
        try images.keep(picture(11), at: url(11))
        // The second and third pictures are the least recently used.
        let left = Set(cache().images().map(\.url))
        #expect(left == Set(([1] + Array(4...11)).map(url)))
        #expect(images.images().reduce(0) { $0 + $1.bytes } <= 10_000)
        #expect(files.count == 2 * left.count)
    }

    @Test func oversizedAndInvalidPicturesAreRefused() throws {
        let images = cache(bytesMax: 999)
        func code(_ body: () throws -> Void) -> ErrorCode? {
            do {
                try body()
                return nil
            } catch { return (error as? SyncError)?.code }
        }
        #expect(code { try images.keep(picture(1), at: url(1)) } == .tooLarge)
        #expect(code { try images.keep([], at: url(1)) } == .usage)
        #expect(code { try images.keep([1], at: "") } == .usage)
        #expect(code { try images.keep([1], at: "nourl") } == .usage)
        #expect(code { try images.keep([1], at: "a\nb") } == .usage)
        // URLs with credentials are refused, so that no secret is stored.
        for url in ["http://ada:secret@example.org/a.png", "//ada@example.org?a"] {
            #expect(code { try images.keep([1], at: url) } == .usage)
            #expect(code { _ = try images.image(at: url) } == .usage)
        }
        #expect(code { _ = try images.image(at: "https://example.org/@ada/a.png") } == nil)
        #expect(code { _ = try images.image(at: String(repeating: "a", count: 5_000)) } == .usage)
        #expect(files.isEmpty)
    }

    @Test func picturesChangedOnDiskAreDropped() throws {
        let images = cache()
        let kept = try images.keep(picture(1), at: url(1))
        try Data(picture(2)).write(to: URL(fileURLWithPath: kept.path))
        #expect(try images.bytes(at: url(1)) == nil)
        #expect(try images.image(at: url(1)) == nil)
        try images.keep(picture(1), at: url(1))
        #expect(try images.bytes(at: url(1)) == picture(1))
        // An entry whose picture is missing is ignored.
        try FileManager.default.removeItem(atPath: kept.path)
        #expect(try images.image(at: url(1)) == nil)
        #expect(images.images().isEmpty)
    }

    @Test func orphanedPicturesAreRemovedOnceOld() throws {
        let images = cache()
        try images.keep(picture(1), at: url(1))
        let directory = store.log.directory.path + "/" + ImageCache.directoryName
        // A process that ends after it stores a picture but before it records the picture's URL
        // leaves an orphan.
        let orphan = String(repeating: "a", count: 64)
        try FileManager.default.createDirectory(
            atPath: directory + "/blobs/aa", withIntermediateDirectories: true)
        try Data(picture(9)).write(to: URL(fileURLWithPath: directory + "/blobs/aa/" + orphan))
        #expect(images.evict(to: .max).isEmpty)
        #expect(BlobStore(store: directory).path(of: orphan) != nil)
        // Advance far enough to pass the file system's clock, which is ahead of the scenario's
        // clock.
        place.clock.advance(by: .seconds(100 * 365 * 86_400))
        #expect(images.evict(to: .max).isEmpty)
        #expect(BlobStore(store: directory).path(of: orphan) == nil)
        #expect(try images.bytes(at: url(1)) == picture(1))
    }
}
