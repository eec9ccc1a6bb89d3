internal import CMalloc
import StorectlCommands

@main
enum Storectl {
    /// The size in bytes from which a freed memory block is returned to the system at once.
    private static let blockBytesMax: Int32 = 256 << 10

    static func main() async {
        tapedeck_return_blocks_from(blockBytesMax)
        await CommandLineTool.run()
    }
}
