public import TapedeckModel

extension ShowObserved: Observation {
    /// The event type `ShowObserved`.
    public static let eventType: EventType = "ShowObserved"

    /// The tag of the show.
    public var tags: [Tag] { get throws { [try Tag("show", String(show))] } }

    /// The entity name, `tvmaze/show/<id>`.
    public var entity: String { "tvmaze/show/\(show)" }

    /// The time at which TVmaze last changed the show, in seconds since 1970.
    public var remoteVersion: UInt64? { hasUpdated ? UInt64(max(0, updated)) : nil }

    /// The unit is one second, because versions are in seconds.
    public static var versionMilliseconds: Int64 { 1_000 }

    /// Checks the id, the text fields and the days.
    public func normalized() throws(ModelError) -> ShowObserved {
        try FieldChecks.id(show, "show")
        if hasUpdated { try FieldChecks.version(updated, "updated") }
        if hasNetwork { try network.check("network") }
        if hasWebChannel { try webChannel.check("webChannel") }
        try FieldChecks.list(genres.count, "genres")
        for genre in genres { try FieldChecks.text(genre, "genres") }
        if hasImage { try image.check("image") }
        if hasRuntimeMinutes { try FieldChecks.minutes(runtimeMinutes, "runtimeMinutes") }
        if hasAverageRuntimeMinutes {
            try FieldChecks.minutes(averageRuntimeMinutes, "averageRuntimeMinutes")
        }
        if hasPremiered { try FieldChecks.day(premiered, "premiered") }
        if hasEnded { try FieldChecks.day(ended, "ended") }
        for (value, field) in [
            (name, "name"), (summary, "summary"), (type, "type"), (language, "language"),
            (status, "status"), (officialSite, "officialSite"), (schedule.time, "schedule.time"),
            (externals.imdb, "externals.imdb"),
        ] { try FieldChecks.text(value, field) }
        try FieldChecks.list(schedule.days.count, "schedule.days")
        for day in schedule.days { try FieldChecks.text(day, "schedule.days") }
        try FieldChecks.cleared(cleared)
        return self
    }
}

extension EpisodeScheduled: Observation {
    /// The event type `EpisodeScheduled`.
    public static let eventType: EventType = "EpisodeScheduled"

    /// The tags of the episode and its show.
    public var tags: [Tag] {
        get throws { [try Tag("episode", String(episode)), try Tag("show", String(show))] }
    }

    /// The entity name, `tvmaze/episode/<id>`.
    public var entity: String { "tvmaze/episode/\(episode)" }

    /// The version of the show in the same response, because TVmaze reports a changed episode as a
    /// change to its show.
    public var remoteVersion: UInt64? { hasShowUpdated ? UInt64(max(0, showUpdated)) : nil }

    /// The unit is one second, because versions are in seconds.
    public static var versionMilliseconds: Int64 { 1_000 }

    /// Checks the ids, the text fields and the times.
    public func normalized() throws(ModelError) -> EpisodeScheduled {
        try FieldChecks.id(episode, "episode")
        try FieldChecks.id(show, "show")
        if hasShowUpdated { try FieldChecks.version(showUpdated, "showUpdated") }
        if hasAirdate { try FieldChecks.day(airdate, "airdate") }
        try FieldChecks.timeOfDay(airtime, "airtime")
        if hasAirstamp { try FieldChecks.moment(airstamp, "airstamp") }
        if hasRuntimeMinutes { try FieldChecks.minutes(runtimeMinutes, "runtimeMinutes") }
        if hasImage { try image.check("image") }
        for (value, field) in [
            (name, "name"), (type, "type"), (airtime, "airtime"), (summary, "summary"),
        ] { try FieldChecks.text(value, field) }
        try FieldChecks.cleared(cleared)
        return self
    }
}

extension CastObserved: Observation {
    /// The event type `CastObserved`.
    public static let eventType: EventType = "CastObserved"

    /// The tag of the show.
    public var tags: [Tag] { get throws { [try Tag("show", String(show))] } }

    /// The entity name, `tvmaze/cast/<show>`.
    public var entity: String { "tvmaze/cast/\(show)" }

    /// The version of the show in the same response; nil if the response does not contain the
    /// show's version.
    public var remoteVersion: UInt64? { hasShowUpdated ? UInt64(max(0, showUpdated)) : nil }

    /// The unit is one second, because versions are in seconds.
    public static var versionMilliseconds: Int64 { 1_000 }

    /// Checks the ids and text fields of all cast members.
    public func normalized() throws(ModelError) -> CastObserved {
        try FieldChecks.id(show, "show")
        if hasShowUpdated { try FieldChecks.version(showUpdated, "showUpdated") }
        try FieldChecks.list(cast.count, "cast")
        for (index, member) in cast.enumerated() {
            let field = "cast[\(index)]"
            try FieldChecks.id(member.personID, "\(field).personId")
            try FieldChecks.id(member.characterID, "\(field).characterId")
            try FieldChecks.text(member.person, "\(field).person")
            try FieldChecks.text(member.character, "\(field).character")
            if member.hasPersonImage { try member.personImage.check("\(field).personImage") }
            if member.hasCharacterImage {
                try member.characterImage.check("\(field).characterImage")
            }
        }
        return self
    }
}

extension ScheduleListed: Observation {
    /// The event type `ScheduleListed`.
    public static let eventType: EventType = "ScheduleListed"

    /// The tag of the listing, which consists of the listing's kind, country and day.
    public var tags: [Tag] { get throws { [try Tag("listing", listing)] } }

    /// The entity name, `tvmaze/listing/<kind>:<country>:<day>`.
    public var entity: String { "tvmaze/listing/\(listing)" }

    /// The time of TVmaze's response, in milliseconds since 1970.
    public var remoteVersion: UInt64? { UInt64(max(0, listedAt.milliseconds)) }

    /// The unit is one millisecond, because versions are in milliseconds.
    public static var versionMilliseconds: Int64 { 1 }

    private var listing: String { "\(web ? "web" : "network"):\(country):\(date)" }

    /// Checks the day, the country, the time and the ids, and sorts the ids.
    public func normalized() throws(ModelError) -> ScheduleListed {
        try FieldChecks.day(date, "date")
        guard hasListedAt else { throw FieldChecks.invalid("listedAt", "is missing") }
        try FieldChecks.time(listedAt, "listedAt")
        try FieldChecks.list(episodes.count, "episodes")
        for id in episodes { try FieldChecks.id(id, "episodes") }
        var listed = self
        if hasCountry {
            guard let code = ScheduleScope.countryCode(country) else {
                throw FieldChecks.invalid("country", "is not a two-letter code, such as US")
            }
            listed.country = code
        } else if !web {
            throw FieldChecks.invalid(
                "country", "is missing: only web schedules cover all countries")
        }
        listed.episodes = Set(episodes).sorted()
        return listed
    }
}

extension TVmazeImage {
    func check(_ field: String) throws(ModelError) {
        if hasMedium { try FieldChecks.url(medium, "\(field).medium") }
        if hasOriginal { try FieldChecks.url(original, "\(field).original") }
    }
}

extension TVmazeChannel {
    func check(_ field: String) throws(ModelError) {
        try FieldChecks.id(id, "\(field).id")
        try FieldChecks.text(name, "\(field).name")
        try FieldChecks.text(countryName, "\(field).countryName")
        try FieldChecks.text(countryCode, "\(field).countryCode")
        try FieldChecks.text(timezone, "\(field).timezone")
    }
}

extension FieldChecks {
    static func version(_ value: Int64, _ field: String) throws(ModelError) {
        guard (0..<253_402_300_800).contains(value) else {
            throw invalid(field, "is \(value), not a time from 1970 to 9999 in seconds after 1970")
        }
    }

    static func minutes(_ value: Int32, _ field: String) throws(ModelError) {
        guard (0...Int32(FieldLimits.secondsMax / 60)).contains(value) else {
            throw invalid(field, "is not a valid number of minutes")
        }
    }

    static func cleared(_ names: [String]) throws(ModelError) {
        try list(names.count, "cleared")
        for name in names { try id(name, "cleared") }
    }
}
