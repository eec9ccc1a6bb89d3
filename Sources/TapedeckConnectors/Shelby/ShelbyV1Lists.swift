internal import TapedeckModel
internal import TapedeckVideo

/// Parses saved lists from Shelby's 2012–2014 API: dashboards and rolls, in their envelopes.
enum ShelbyV1Lists {
    /// `/v1/dashboard` and `/v1/user/{id}/dashboard`: dashboard entries with their frames.
    static func dashboard(
        _ document: JSONValue, _ context: IngestContext, _ result: inout IngestResult
    ) {
        read(document, context, &result) { (envelope) throws(IngestRefusal) in
            Rows(
                list: context.list ?? VideoGroup.stream, values: try envelope.list("result") ?? [],
                path: "$.result")
        }
    }

    /// `/v1/roll/{id}/frames`: a roll with its frames.
    static func roll(
        _ document: JSONValue, _ context: IngestContext, _ result: inout IngestResult
    ) {
        read(document, context, &result) { (envelope) throws(IngestRefusal) in
            guard let roll = try envelope.object("result").value else { return nil }
            let id = try roll.shelbyID("id").text
            return Rows(
                list: context.list ?? VideoGroup.roll(id), described: roll,
                values: try roll.list("frames") ?? [], path: "$.result.frames")
        }
    }

    /// `/v1/user/{id}/rolls/following`: the rolls that the user follows.
    static func following(
        _ document: JSONValue, _ context: IngestContext, _ result: inout IngestResult
    ) {
        read(document, context, &result) { (envelope) throws(IngestRefusal) in
            Rows(values: try envelope.list("result") ?? [], path: "$.result")
        }
    }

    private struct Rows {
        /// The list that contains the rows; nil if the rows are rolls that the user follows.
        var list: String?
        /// The roll that the response describes; nil if there is none.
        var described: JSONElement?
        var values: [JSONValue]
        var path: String
    }

    private static func read(
        _ document: JSONValue, _ context: IngestContext, _ result: inout IngestResult,
        _ rows: (JSONElement) throws(IngestRefusal) -> Rows?
    ) {
        do throws(IngestRefusal) {
            // A list without rows may be saved as an empty array without an envelope.
            if case .array(let list) = document, list.isEmpty { return }
            let envelope = try JSONElement(document, at: "$")
            let status = try envelope.integer("status").value
            guard let status, (200..<300).contains(status), let rows = try rows(envelope) else {
                let text = try envelope.text("message").value ?? "no result"
                throw IngestRefusal(
                    "$", .remoteError, "the remote returned an error: \(text.prefix(200))")
            }
            if let roll = rows.described { describe(roll, context, &result) }
            for (index, value) in rows.values.enumerated() {
                let path = "\(rows.path)[\(index)]"
                add(value, at: path, to: rows.list, context, &result)
            }
        } catch {
            result.refuse(error)
        }
    }

    /// Adds the description of a roll; an unreadable description does not affect the roll's frames.
    private static func describe(
        _ roll: JSONElement, _ context: IngestContext, _ result: inout IngestResult
    ) {
        do throws(IngestRefusal) {
            context.propose(try roll.shelbyV1Roll(), at: "$.result", in: &result)
        } catch {
            result.refuse(error)
        }
    }

    private static func add(
        _ value: JSONValue, at path: String, to list: String?, _ context: IngestContext,
        _ result: inout IngestResult
    ) {
        do throws(IngestRefusal) {
            let row = try JSONElement(value, at: path)
            guard let list else {
                var roll = try row.shelbyV1Roll()
                roll.followed = true
                return context.propose(roll, at: path, in: &result)
            }
            let isEntry = row.has("frame") || row.has("action")
            let element = isEntry ? try ShelbyV1Documents.frame(ofEntry: row) : row
            guard let element, let frame = try ShelbyV1Frame(element) else { return }
            frame.refused.forEach { result.refuse($0) }
            let entry = try row.shelbyID("id")
            // Only videos in the stream were shared with the user.
            if list == VideoGroup.stream {
                context.propose(frame.broadcast(for: nil), at: path, in: &result)
            }
            context.propose(frame.listing(as: entry, on: list), at: path, in: &result)
            if isEntry, let roll = frame.roll {
                context.propose(frame.listing(on: VideoGroup.roll(roll)), at: path, in: &result)
            }
            context.propose(frame.observation(for: nil), at: path, in: &result)
            if let description = frame.description {
                context.propose(
                    description, reportedAt: frame.id.milliseconds, at: path, in: &result)
            }
            for message in frame.messages {
                context.propose(
                    message.observation(of: frame.video, in: frame.conversation), at: path,
                    in: &result)
            }
        } catch {
            result.refuse(error)
        }
    }
}
