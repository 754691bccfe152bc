import CAV
import CLinux
import CVips
import Glibc

/// Looks into one file, in a process that ends with it.
struct Inspector {
    let sandbox: Sandbox
    let bounds: Bounds

    /// Loads what libraries open at their leisure: behind the filter it would be too late.
    init(_ arguments: Arguments) {
        tzset()  // Time zones are in files.
        Self.prepareMemory()
        precondition(parley_vips_start("media-inspector") == 0, "libvips does not start")
        av_log_set_level(AV_LOG_QUIET)
        sandbox = Sandbox(arguments.limits)
        bounds = Bounds(pixels: arguments.pixels)
    }

    private static func prepareMemory() {
        mallopt(M_ARENA_MAX, 1)  // To decide how many arenas threads get, glibc would read the number of processors.
        // A process of one file has no use for giving memory back, and would take it again at once.
        mallopt(M_MMAP_THRESHOLD, 32 << 20)
        mallopt(M_TRIM_THRESHOLD, Int32.max)
        mallopt(M_TOP_PAD, 8 << 20)
    }

    /// The file on descriptor 0, with what is found on descriptor 1. Never returns.
    func inspectAndExit() -> Never {
        guard let file = MappedFile(descriptor: 0) else {
            _exit(2)
        }
        sandbox.close()
        let frames = FrameWriter.to(descriptor: 1)
        let type = FileType(file.bytes)
        var facts = Facts(type: type.name)
        do throws(Refusal) {
            try inspect(file.bytes, as: type, frames, facts: &facts)
            frames.append(.facts, facts.json)
        } catch {
            frames.append(.facts, facts.json(refusedFor: error))
        }
        frames.append(.end, [])
        _exit(0)
    }

    private func inspect(
        _ bytes: UnsafeRawBufferPointer, as type: FileType, _ frames: FrameWriter, facts: inout Facts
    ) throws(Refusal) {
        let pictures = PictureInspection(bounds: bounds, frames: frames)
        switch type {
        case .picture(let format): try pictures.inspect(format, bytes, facts: &facts)
        case .recording(let format):
            try RecordingInspection(bounds: bounds, pictures: pictures).inspect(format, bytes, facts: &facts)
        case .other: break
        }
    }
}
