internal import Foundation
public import TapedeckModel

/// Which channels and shows a schedule lists.
public struct ScheduleScope: Hashable, Sendable {
    /// The country's code by ISO 3166; nil for every country.
    public let country: String?
    /// Whether networks count.
    public let networks: Bool
    /// Whether web channels count.
    public let webChannels: Bool
    /// What the name of the show or of the channel must hold, whatever its case and its accents; nil for
    /// anything.
    public let filter: String?

    /// The country where none is named.
    public static let countryDefault = "US"

    /// Makes a scope as the options of `storectl query schedule` mean it.
    ///
    /// - Parameters:
    ///   - country: a code such as `US`; nil is `countryDefault`, or with `web` every country.
    ///   - web: web channels only.
    ///   - includeWeb: the country's web channels beside its networks.
    ///   - filter: a part of the name of a show or of a channel.
    ///
    /// Throws `ModelError` with `.usage` for a country that is not two letters and for a blank filter.
    public init(
        country: String? = nil, web: Bool = false, includeWeb: Bool = false, filter: String? = nil
    ) throws(ModelError) {
        if let country {
            self.country = try ScheduleScope.checkedCountry(country)
        } else {
            self.country = web ? nil : ScheduleScope.countryDefault
        }
        networks = !web
        webChannels = web || includeWeb
        self.filter = filter.map(ScheduleScope.plain)
        if self.filter?.isEmpty ?? false {
            throw ModelError(.usage, "the filter is blank", hint: "give a part of a name")
        }
    }

    /// A country's code in capitals; nil for what is not two letters.
    static func countryCode(_ text: String) -> String? {
        let isCode = text.utf8.count == 2 && text.utf8.allSatisfy(VideoKey.isLetterOrDigit)
        return isCode ? text.uppercased() : nil
    }

    /// A country's code in capitals; throws `ModelError` with `.usage` for what is not two letters.
    package static func checkedCountry(_ text: String) throws(ModelError) -> String {
        guard let code = countryCode(text) else {
            throw ModelError(
                .usage, "\"\(text.prefix(20))\" is not a country's code",
                hint: "give two letters, such as US")
        }
        return code
    }

    /// The channel for whose sake a show is listed, or nil.
    ///
    /// A show on both a network and a web channel is listed for its network, where networks count.
    func channel(of show: ShowObserved) -> TVmazeChannel? {
        var channel: TVmazeChannel?
        if webChannels, show.hasWebChannel, covers(show.webChannel) { channel = show.webChannel }
        if networks, show.hasNetwork, covers(show.network) { channel = show.network }
        guard let channel, let filter else { return channel }
        let names = [show.name, channel.name].map(ScheduleScope.plain)
        return names.contains { $0.contains(filter) } ? channel : nil
    }

    private func covers(_ channel: TVmazeChannel) -> Bool {
        country == nil || channel.countryCode == country
    }

    /// A text without what a filter leaves aside: case, accents, width, and blanks around it.
    private static func plain(_ text: String) -> String {
        text.folding(
            options: [.caseInsensitive, .diacriticInsensitive, .widthInsensitive], locale: nil
        ).trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
