import Foundation
import Synchronization
import TapedeckLog
import TapedeckModel
import TestSupport
import Testing

@Suite(.offTasks) struct NewNamesTests {
    /// Each commit records an event of a type that no reader has seen before.
    @Test func readersKnowTheTypesOfConcurrentAppends() throws {
        let directory = try TemporaryDirectory()
        let log = try directory.store()
        let isDone = Atomic(false)
        let readers = DispatchGroup()
        let tag = Tag(unchecked: "note/1")
        for number in 0..<3 {
            readers.enter()
            Thread.detachNewThread {
                defer { readers.leave() }
                while !isDone.load(ordering: .relaxed) {
                    let head = log.head
                    let next = LogPosition(rawValue: head.rawValue + 1)
                    do {
                        switch number {
                        case 0: _ = try log.events(after: head)
                        case 1: _ = try log.events(after: head, tag: tag)
                        default: _ = try log.event(at: next)
                        }
                    } catch {
                        Issue.record(error)
                        return
                    }
                }
            }
        }
        for number in 0..<2_000 {
            let type = EventType(stringLiteral: "Type\(number)")
            try log.appendBlocking([ProposedEvent(type: type, tags: [tag], payload: [1])])
        }
        isDone.store(true, ordering: .relaxed)
        readers.wait()
    }
}
