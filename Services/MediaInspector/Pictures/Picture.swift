import CVips

/// Pixels of libvips, or the recipe for them: most operations compute nothing before pixels are asked for.
final class Picture {
    fileprivate let image: UnsafeMutablePointer<VipsImage>

    init(owning image: UnsafeMutablePointer<VipsImage>) { self.image = image }

    /// From the memory of somebody else, which is copied.
    convenience init(copying pixels: [UInt8], width: Int, height: Int, bands: Int) throws(Refusal) {
        let image = parley_vips_pixels(pixels, pixels.count, Int32(width), Int32(height), Int32(bands))
        guard let image else { throw .unreadable }
        self.init(owning: image)
    }

    deinit { g_object_unref(image) }

    var width: Int { Int(vips_image_get_width(image)) }
    var height: Int { Int(vips_image_get_height(image)) }
    var bands: Int { Int(vips_image_get_bands(image)) }
    var frameHeight: Int { Int(vips_image_get_page_height(image)) }
    var frames: Int { height / frameHeight }
    var hasAlpha: Bool { vips_image_hasalpha(image) != 0 }
    var isUpright: Bool { vips_image_get_orientation(image) <= 1 }
    var hasProfile: Bool { vips_image_get_typeof(image, VIPS_META_ICC_NAME) != 0 }
    /// Bytes, of which red, green and blue are the first three, or grey the first.
    var isPlain: Bool {
        let plain = [VIPS_INTERPRETATION_sRGB, VIPS_INTERPRETATION_B_W].contains(vips_image_get_interpretation(image))
        return plain && vips_image_get_format(image) == VIPS_FORMAT_UCHAR
    }
    var isGrey: Bool { bands < 3 }

    func set(profile: [UInt8]) {
        profile.withUnsafeBytes { vips_image_set_blob_copy(image, VIPS_META_ICC_NAME, $0.baseAddress, $0.count) }
    }

    func text(of name: String) -> String? {
        var text: UnsafePointer<CChar>?
        guard vips_image_get_typeof(image, name) != 0, vips_image_get_string(image, name, &text) == 0 else {
            return nil
        }
        return text.map { String(cString: $0) }
    }

    typealias Operation = (UnsafeMutablePointer<VipsImage>, UnsafeMutablePointer<UnsafeMutablePointer<VipsImage>?>) ->
        Int32

    /// What an operation makes of it.
    func applying(_ operation: Operation) throws(Refusal) -> Picture {
        var result: UnsafeMutablePointer<VipsImage>?
        guard operation(image, &result) == 0, let result else { throw .unreadable }
        return Picture(owning: result)
    }

    /// With all pixels computed. This is where damage shows.
    func computed() throws(Refusal) -> Picture {
        guard let copy = vips_image_copy_memory(image) else { throw .unreadable }
        return Picture(owning: copy)
    }

    func deviation() -> Double {
        var deviation = 0.0
        return parley_vips_deviation(image, &deviation) == 0 ? deviation : 0
    }

    /// The bytes of all pixels, row after row.
    func pixels() throws(Refusal) -> [UInt8] {
        var length = 0
        guard let memory = vips_image_write_to_memory(image, &length) else { throw .unreadable }
        defer { g_free(memory) }
        return Array(UnsafeRawBufferPointer(start: memory, count: length))
    }

    /// Writes it as a file.
    func save(
        as tag: FrameTag, of format: PictureFormat, to frames: FrameWriter,
        with operation: (UnsafeMutablePointer<VipsImage>, UnsafeMutablePointer<VipsTarget>) -> Int32
    ) throws(Refusal) {
        let sink = FrameSink(tag, frames, isHeld: format == .webp)
        let target = parley_vips_target(
            { _, bytes, count, context in
                Unmanaged<FrameSink>.fromOpaque(context!).takeUnretainedValue()
                    .write(UnsafeRawBufferPointer(start: bytes, count: Int(count))) ? count : -1
            }, Unmanaged.passUnretained(sink).toOpaque())
        defer { g_object_unref(target) }
        guard let target, withExtendedLifetime(sink, { operation(image, target) }) == 0 else { throw .unreadable }
        sink.finish()
    }
}

/// Where an operation of libvips writes.
private final class FrameSink {
    private let tag: FrameTag
    private let frames: FrameWriter
    /// What is held back until the metadata can be taken out of it.
    private var held: [UInt8]?

    init(_ tag: FrameTag, _ frames: FrameWriter, isHeld: Bool) {
        self.tag = tag
        self.frames = frames
        held = isHeld ? [] : nil
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard held != nil else { return frames.append(tag, bytes) }
        held?.append(contentsOf: bytes)
        return true
    }

    func finish() {
        if let held { frames.append(tag, WebPFile.withoutMetadata(held)) }
    }
}

extension Picture {
    static func load(_ format: PictureFormat, from bytes: UnsafeRawBufferPointer, bounds: Bounds) throws(Refusal)
        -> Picture
    {
        switch format {
        case .jpeg: try load(bytes, bounds, parley_vips_load_jpeg)
        case .png: try load(bytes, bounds, parley_vips_load_png)
        case .gif: try load(bytes, bounds, parley_vips_load_gif)
        case .webp: try load(bytes, bounds, parley_vips_load_webp)
        case .heic, .avif: try HEIFPicture(bytes, bounds: bounds).decoded()
        }
    }

    /// Reads the header, which says how large it is, and no pixels yet.
    private static func load(
        _ bytes: UnsafeRawBufferPointer, _ bounds: Bounds,
        _ operation: (UnsafeMutablePointer<VipsSource>, UnsafeMutablePointer<UnsafeMutablePointer<VipsImage>?>) -> Int32
    ) throws(Refusal) -> Picture {
        guard let source = vips_source_new_from_memory(bytes.baseAddress, bytes.count) else { throw .unreadable }
        defer { g_object_unref(source) }
        var image: UnsafeMutablePointer<VipsImage>?
        guard operation(source, &image) == 0, let image else { throw .unreadable }
        let picture = Picture(owning: image)
        try bounds.check(width: picture.width, height: picture.height, frames: picture.frames)
        return picture
    }

    /// In sRGB, upright, all pixels computed.
    func normalized() throws(Refusal) -> Picture {
        let decoded = try inSRGB().computed()
        let upright = decoded.isUpright ? decoded : try decoded.applying(parley_vips_upright)
        return try upright.withoutMetadata()
    }

    /// Nothing but pixels, and how they are shown one after the other.
    private func withoutMetadata() throws(Refusal) -> Picture {
        let copy = try applying(parley_vips_copied)
        let names = vips_image_get_fields(copy.image)
        defer { g_strfreev(names) }
        var next = names
        while let name = next?.pointee {
            if !Self.kept.contains(String(cString: name)) { vips_image_remove(copy.image, name) }
            next = next?.successor()
        }
        return copy
    }

    private static let kept: Set = ["n-pages", "page-height", "delay", "loop", "gif-palette"]

    private func inSRGB() throws(Refusal) -> Picture {
        // A profile that is damaged, or of another kind of picture, is left aside.
        if hasProfile, let converted = try? applying(parley_vips_from_profile) { return try converted.plain() }
        return try plain()
    }

    private func plain() throws(Refusal) -> Picture {
        if isPlain { return self }
        return try applying(isGrey ? parley_vips_to_grey : parley_vips_to_srgb)
    }

    var firstFrame: Picture {
        get throws(Refusal) {
            let height = Int32(frameHeight)
            return frames == 1 ? self : try applying { parley_vips_top($0, $1, height) }
        }
    }

    /// Smaller, or as it is.
    func within(_ size: Int) throws(Refusal) -> Picture {
        if width <= size && height <= size { return self }
        return try applying { parley_vips_within($0, $1, Int32(size)) }.computed()
    }
}
