internal import Foundation

/// A body that is an object of JSON, held against what a table allows.
struct SimulatedObject {
    private let members: [String: Any]

    /// Reads the body.
    ///
    /// Throws where there is a query, where the body is no object, and where it has anything that is not in
    /// `allowed` or lacks what is `required`.
    init(
        _ request: SimulatedRequest, required: [String], allowed: [String] = []
    ) throws(OutsideTables) {
        if let item = request.query.first { throw OutsideTables("the query has \(item.name)") }
        let type = (request.header("Content-Type") ?? "").prefix { $0 != ";" }.lowercased()
        guard type == "application/json",
            let object = try? JSONSerialization.jsonObject(with: Data(request.body)),
            let members = object as? [String: Any]
        else { throw OutsideTables("the body is no object of JSON") }
        self.init(members)
        for name in members.keys.sorted() where !(required + allowed).contains(name) {
            throw OutsideTables("there is no member \(name)")
        }
        for name in required where members[name] == nil {
            throw OutsideTables("\(name) is missing")
        }
    }

    private init(_ members: [String: Any]) { self.members = members }

    func has(_ name: String) -> Bool { members[name] != nil }

    /// A member that must be a text.
    func text(_ name: String) throws(OutsideTables) -> String {
        guard let text = members[name] as? String else { throw OutsideTables("\(name) is no text") }
        return text
    }

    /// A member that must be a whole number.
    func number(_ name: String) throws(OutsideTables) -> Int64 {
        guard let number = members[name] as? NSNumber,
            Double(number.int64Value) == number.doubleValue
        else { throw OutsideTables("\(name) is no whole number") }
        return number.int64Value
    }

    /// A member that must be an object.
    func object(_ name: String) throws(OutsideTables) -> SimulatedObject {
        guard let object = members[name] as? [String: Any] else {
            throw OutsideTables("\(name) is no object")
        }
        return SimulatedObject(object)
    }
}
