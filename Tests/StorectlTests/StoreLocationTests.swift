import TestSupport
import Testing

@testable import StorectlCommands

/// The directory of the store that a command uses.
@Suite(.offTasks) struct StoreLocationTests {
    private func checkDirectory(
        _ option: String?, _ environment: [String: String], _ expected: String
    ) throws {
        let found = try StoreOptions.directory(option: option, environment: environment)
        #expect(found == expected)
    }

    @Test func optionOverridesTheVariable() throws {
        try checkDirectory("here", ["TAPEDECK_STORE": "there", "HOME": "/h"], "here")
        try checkDirectory(nil, ["TAPEDECK_STORE": "there", "XDG_DATA_HOME": "/d"], "there")
    }

    @Test func dataDirectoryIsTheDefault() throws {
        try checkDirectory(nil, ["XDG_DATA_HOME": "/d", "HOME": "/h"], "/d/tapedeck")
        try checkDirectory(nil, ["HOME": "/h"], "/h/.local/share/tapedeck")
        try checkDirectory(nil, ["XDG_DATA_HOME": "d", "HOME": "/h"], "/h/.local/share/tapedeck")
        try checkDirectory(nil, ["TAPEDECK_STORE": "", "HOME": "/h"], "/h/.local/share/tapedeck")
    }

    @Test func initUsesTheDefaultDirectory() throws {
        let storectl = try Storectl()
        let run = try storectl.run(
            ["init", "--json"],
            environment: ["TAPEDECK_STORE": "", "XDG_DATA_HOME": storectl.directory.path])
        #expect(try run.document["path"]?.text == storectl.directory.path + "/tapedeck")
    }
}
