extension Activity {
    /// Appends a line in the format of `storectl append --file`, including the newline.
    ///
    /// ```json
    /// {"type":"WatchLaterToggled","payload":{…},"at":"2015-01-01T00:00:07.250Z","origin":"phone"}
    /// ```
    ///
    /// `origin` names the device. When the line is appended to a store, the store uses its own
    /// origin instead.
    public func appendLine(to bytes: inout [UInt8]) {
        switch kind {
        case .broadcastReceived: appendBroadcast(to: &bytes)
        case .playbackProgressed: appendPlayback(to: &bytes)
        case .commentPosted: appendComment(to: &bytes)
        case .watchLaterToggled:
            bytes.add(#"{"type":"WatchLaterToggled","payload":{"video":""#)
            appendVideo(to: &bytes)
            bytes.add(count == 1 ? #"","isOn":true"# : #"","isOn":false"#)
        case .videoExtracted: appendExtraction(to: &bytes)
        case .answerUploaded: appendAnswer(to: &bytes)
        }
        bytes.add(#"},"at":""#)
        bytes.addTime(seconds: atMilliseconds / 1_000, milliseconds: atMilliseconds % 1_000)
        switch device {
        case .phone: bytes.add(#"","origin":"phone"}"#)
        case .tablet: bytes.add(#"","origin":"tablet"}"#)
        case .laptop: bytes.add(#"","origin":"laptop"}"#)
        }
        bytes.append(0x0A)
    }

    private func appendBroadcast(to bytes: inout [UInt8]) {
        bytes.add(#"{"type":"BroadcastReceived","payload":{"broadcast":""#)
        appendName(UInt8(ascii: "b"), to: &bytes)
        bytes.add(#"","video":""#)
        appendVideo(to: &bytes)
        bytes.add(#"","title":""#)
        appendTitle(to: &bytes)
        bytes.add(#"","sharer":""#)
        appendPerson(to: &bytes)
        if hasNetwork {
            bytes.add(#"","origin":""#)
            appendNetwork(to: &bytes)
        }
        if hasComment {
            bytes.add(#"","comment":""#)
            appendSaying(to: &bytes)
        }
        bytes.add(#"","createdAt":""#)
        bytes.addTime(seconds: seconds)
        if count > 0 {
            bytes.add(#"","updatedAt":""#)
            bytes.addTime(seconds: updatedSeconds)
            bytes.add(isMarked ? #"","watchLater":true"# : #"","watchLater":false"#)
        } else {
            bytes.append(UInt8(ascii: "\""))
        }
    }

    private func appendPlayback(to bytes: inout [UInt8]) {
        bytes.add(#"{"type":"PlaybackProgressed","payload":{"video":""#)
        appendVideo(to: &bytes)
        bytes.add(#"","viewing":""#)
        appendName(UInt8(ascii: "v"), to: &bytes)
        bytes.add(#"","positionSeconds":"#)
        bytes.add(seconds)
        bytes.add(#","durationSeconds":"#)
        bytes.add(durationSeconds)
    }

    private func appendComment(to bytes: inout [UInt8]) {
        if isAboutAnswer {
            bytes.add(#"{"type":"CommentPosted","payload":{"answer":"a"#)
            bytes.add(subject)
        } else {
            bytes.add(#"{"type":"CommentPosted","payload":{"video":""#)
            appendVideo(to: &bytes)
        }
        bytes.add(#"","text":""#)
        appendSaying(to: &bytes)
        bytes.add(#"","author":""#)
        appendPerson(to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    private func appendExtraction(to bytes: inout [UInt8]) {
        bytes.add(#"{"type":"VideoExtracted","payload":{"video":""#)
        appendVideo(to: &bytes)
        bytes.add(#"","url":""#)
        appendAddress(to: &bytes)
        bytes.add(#"","extractedAt":""#)
        bytes.addTime(seconds: atMilliseconds / 1_000)
        bytes.add(#"","expiresAt":""#)
        bytes.addTime(seconds: expiresSeconds)
        bytes.append(UInt8(ascii: "\""))
    }

    private func appendAnswer(to bytes: inout [UInt8]) {
        bytes.add(#"{"type":"AnswerUploaded","payload":{"question":"q"#)
        bytes.add(subject)
        bytes.add(#"","answer":""#)
        appendName(UInt8(ascii: "a"), to: &bytes)
        bytes.add(#"","durationSeconds":"#)
        bytes.add(seconds)
        if count > 0 {
            bytes.add(#","videoUrl":""#)
            appendAnswerAddress(to: &bytes)
            bytes.append(UInt8(ascii: "\""))
        }
    }
}
