/// The parameters of a request, validated against the parameters that a route allows.
struct SimulatedParameters {
    private(set) var fields: [SimulatedField]
    private(set) var files: [SimulatedFile]

    struct Source: OptionSet {
        let rawValue: Int
        static let query = Source(rawValue: 1)
        static let form = Source(rawValue: 2)
        static let both: Source = [.query, .form]
    }

    /// Reads the parameters of a request.
    ///
    /// Throws if a parameter is neither in `allowed` nor in `required`, if a parameter whose name
    /// does not end in `[]` appears twice, if a required parameter is missing, or if the request
    /// has a query or a body that `source` excludes.
    init(
        _ request: SimulatedRequest, in source: Source, allowed: [String] = [],
        required: [String] = [], files fileNames: [String] = []
    ) throws(OutsideTables) {
        if !source.contains(.query), let item = request.query.first {
            throw OutsideTables("unexpected query item \(item.name)")
        }
        fields = request.query
        files = []
        if source.contains(.form) {
            let form = try SimulatedForm(request)
            fields += form.fields
            files = form.files
        } else if !request.body.isEmpty {
            throw OutsideTables("unexpected body")
        }
        for file in files where !fileNames.contains(file.name) {
            throw OutsideTables("unexpected file \(file.name)")
        }
        var seen: Set<String> = []
        for field in fields {
            guard allowed.contains(field.name) || required.contains(field.name) else {
                throw OutsideTables("unknown parameter \(field.name)")
            }
            guard seen.insert(field.name).inserted || field.name.hasSuffix("[]") else {
                throw OutsideTables("\(field.name) appears twice")
            }
        }
        seen.formUnion(files.map(\.name))
        for name in required where !seen.contains(name) {
            throw OutsideTables("\(name) is missing")
        }
    }

    subscript(_ name: String) -> String? { fields.first { $0.name == name }?.value }

    func all(_ name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }

    func file(_ name: String) -> SimulatedFile? { files.first { $0.name == name } }
}
