internal import SwiftProtobuf
internal import TapedeckModel
internal import TapedeckVideo

extension EpisodeScheduled {
    /// Reads an episode; missing fields stay absent, and null fields are listed in `cleared`.
    ///
    /// - Parameters:
    ///   - show: The id of the episode's show.
    ///   - updated: The version of the show in the same response.
    init(tvmaze element: JSONElement, show: Int64, updated: Int64?) throws(IngestRefusal) {
        self.init()
        var cleared = ClearedFields()
        episode = try element.id()
        self.show = show
        if let updated { showUpdated = updated }
        if let value = cleared.take("name", try element.text("name")) { name = value }
        if let value = cleared.take("season", try element.small("season")) { season = value }
        if let value = cleared.take("number", try element.small("number")) { number = value }
        if let value = cleared.take("type", try element.text("type")) { type = value }
        if let value = cleared.take("airdate", try element.day("airdate")) { airdate = value }
        if let value = cleared.take("airtime", try element.text("airtime")) { airtime = value }
        // Some episodes aired before 1970.
        let airstamp = try element.time("airstamp", in: Timestamps.whole)
        if let value = cleared.take("airstamp", airstamp) {
            self.airstamp = Google_Protobuf_Timestamp(milliseconds: value)
        }
        if let value = cleared.take("runtimeMinutes", try element.small("runtime")) {
            runtimeMinutes = value
        }
        if let value = cleared.take("image", try element.image("image")) { image = value }
        if let value = cleared.take("summary", try element.text("summary")) { summary = value }
        self.cleared = cleared.sorted
    }
}

extension TVmazeCastMember {
    /// Reads a cast member.
    init(tvmaze element: JSONElement) throws(IngestRefusal) {
        self.init()
        let person = try element.required("person")
        personID = try person.id()
        if let value = try person.text("name").value { self.person = value }
        if let value = try person.image("image").value { personImage = value }
        let character = try element.required("character")
        characterID = try character.id()
        if let value = try character.text("name").value { self.character = value }
        if let value = try character.image("image").value { characterImage = value }
        if let value = try element.flag("self").value { isSelf = value }
        if let value = try element.flag("voice").value { isVoice = value }
    }
}

extension JSONElement {
    fileprivate func required(_ name: String) throws(IngestRefusal) -> JSONElement {
        guard let element = try object(name).value else {
            throw IngestRefusal("\(path).\(name)", .invalidPayload, "is missing")
        }
        return element
    }
}
