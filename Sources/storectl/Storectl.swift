internal import CMalloc
import StorectlCommands

@main
enum Storectl {
    /// The minimum size, in bytes, of memory blocks that are returned to the system as soon as they
    /// are freed.
    private static let blockBytesMax: Int32 = 256 << 10

    static func main() async {
        tapedeck_return_blocks_from(blockBytesMax)
        await CommandLineTool.run()
    }
}
