import StorectlCommands

@main
enum Storectl {
    static func main() async {
        await CommandLineTool.run()
    }
}
