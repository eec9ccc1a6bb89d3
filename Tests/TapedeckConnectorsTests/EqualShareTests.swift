import Tapedeck
import TapedeckConnectors
import TapedeckTesting
import TestSupport
import Testing

/// Two shares of one video at the same time may contain different pictures.
@Suite(.offTasks) struct EqualShareTests {
    private static let pictures = ["http://x/d.jpg", "http://x/e.jpg"]
    private static let orders = [pictures, pictures.reversed()]

    enum API: CaseIterable { case v1, v2 }

    /// A store that reads the user's list again and again.
    private final class Device {
        private let api: API
        private let place: TemporaryStore
        private var readings: Int64 = 0
        let store: TapedeckStore

        init(_ api: API) throws {
            self.api = api
            place = try TemporaryStore("shares")
            store = try place.open()
        }

        /// Records a response that contains a share for each picture; returns the number of new
        /// events.
        func read(_ pictures: [String], title: String? = nil) throws -> Int {
            readings += 1
            let shares = pictures.map { share($0, title: title) }.joined(separator: ",")
            let json = api == .v1 ? #"{"status":200,"result":[\#(shares)]}"# : "[\(shares)]"
            let resource = try IngestResource.named(
                api == .v1 ? "shelby/dashboard" : "shelby/broadcasts")
            let result = try resource.read(
                Array(json.utf8), observedAt: 1_400_000_000_000 + readings * 60_000)
            #expect(result.refused.isEmpty)
            return try store.log.record(result.proposals).recorded
        }

        func entry() throws -> GroupEntry {
            let page = try store.projections.read(nil) {
                try VideoQueries($0).videos(in: .timeline, at: UTCTime(milliseconds: 0))
            }
            return try #require(page.videos.first)
        }

        private func share(_ picture: String, title: String?) -> String {
            let letter = Array(picture)[9]
            switch api {
            case .v1:
                let id = "50000001000000000000000\(letter)"
                let title = title.map { #","title":"\#($0)""# } ?? ""
                return #"{"id":"\#(id)","action":8,"frame":{"id":"\#(id)","creator":{"id":"x"},"#
                    + #""video":{"provider_name":"vimeo","provider_id":"12","#
                    + #""thumbnail_url":"\#(picture)"\#(title)}}}"#
            case .v2:
                let title = title.map { #","video_title":"\#($0)""# } ?? ""
                return #"{"_id":"\#(letter)","video_provider_name":"vimeo","#
                    + #""video_id_at_provider":"12","video_thumbnail_url":"\#(picture)","#
                    + #""created_at":"2012-01-01T00:00:00Z","updated_at":"2012-01-01T00:00:00Z""#
                    + "\(title)}"
            }
        }
    }

    @Test(arguments: API.allCases, orders)
    func aListAddsNothingAfterItsFirstReading(api: API, pictures: [String]) throws {
        let device = try Device(api)
        #expect(try device.read(pictures) > 0)
        let picture = try device.entry().thumbnailUrl
        for order in [pictures, pictures.reversed(), pictures] {
            #expect(try device.read(order) == 0)
            #expect(try device.entry().thumbnailUrl == picture)
        }
    }

    @Test(arguments: API.allCases)
    func thePictureDoesNotDependOnTheOrder(api: API) throws {
        let found = try EqualShareTests.orders.map { order in
            let device = try Device(api)
            _ = try device.read(order)
            return try device.entry().thumbnailUrl
        }
        #expect(found[0] != nil && found[0] == found[1])
    }

    /// The shares are on two lists, which are read one after the other.
    @Test(arguments: API.allCases) func twoListsAddNothingAfterTheirFirstReading(api: API) throws {
        let device = try Device(api)
        let lists = EqualShareTests.pictures.map { [$0] }
        for list in lists { #expect(try device.read(list) > 0) }
        let picture = try device.entry().thumbnailUrl
        for list in lists + lists.reversed() {
            #expect(try device.read(list) == 0)
            #expect(try device.entry().thumbnailUrl == picture)
        }
    }

    /// Each device has read one of the shares before the devices sync with each other.
    @Test(arguments: API.allCases)
    func twoDevicesAgreeAndAddNothing(api: API) throws {
        let devices = try EqualShareTests.pictures.map { picture in
            let device = try Device(api)
            _ = try device.read([picture])
            return device
        }
        let files = try TemporaryStore("files")
        for (number, from) in devices.enumerated() {
            let file = files.path("events-\(number)")
            try from.store.log.export(to: file)
            _ = try devices[1 - number].store.log.importEvents(from: file)
        }
        let picture = try devices[0].entry().thumbnailUrl
        #expect(picture != nil)
        for device in devices {
            for order in EqualShareTests.orders { #expect(try device.read(order) == 0) }
            #expect(try device.entry().thumbnailUrl == picture)
        }
    }

    /// A later response may contain fields that the earlier one lacked.
    @Test(arguments: API.allCases) func missingFieldsAreAddedOnce(api: API) throws {
        let device = try Device(api)
        _ = try device.read(EqualShareTests.pictures)
        #expect(try device.entry().title == nil)
        #expect(try device.read(EqualShareTests.pictures, title: "Twelve") > 0)
        #expect(try device.entry().title == "Twelve")
        for order in EqualShareTests.orders {
            #expect(try device.read(order, title: "Twelve") == 0)
        }
    }
}
