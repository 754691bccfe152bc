import CVips

/// Makes of a picture what is shown of it: itself without anything but its pixels, two thumbnails, and its hash.
struct PictureInspection {
    let bounds: Bounds
    let frames: FrameWriter

    func inspect(_ format: PictureFormat, _ bytes: UnsafeRawBufferPointer, facts: inout Facts) throws(Refusal) {
        let loaded = try Picture.load(format, from: bytes, bounds: bounds)
        let hasFullColor = loaded.text(of: "jpeg-chroma-subsample") == "4:4:4"
        let picture = try loaded.normalized()
        facts.width = picture.width
        facts.height = picture.frameHeight
        let encoding = Encoding(of: format, bytes, hasAlpha: picture.hasAlpha, hasFullColor: hasFullColor)
        facts.contentType = encoding.format.rawValue
        try picture.save(as: .content, of: encoding.format, to: frames, with: encoding.save)
        try describe(try picture.firstFrame, in: &facts)
    }

    /// The thumbnails and the hash. Also of the poster of a video.
    func describe(_ picture: Picture, in facts: inout Facts) throws(Refusal) {
        let large = try picture.within(ThumbnailSize.large.pixels)
        let small = try large.within(ThumbnailSize.small.pixels)
        facts.thumbhash = try small.thumbhash()
        facts.thumbnails = [
            try save(small, as: .small, .smallThumbnail), try save(large, as: .large, .largeThumbnail),
        ]
    }

    private func save(_ picture: Picture, as size: ThumbnailSize, _ tag: FrameTag) throws(Refusal) -> Facts.Thumbnail {
        try picture.save(as: tag, of: .webp, to: frames) { parley_vips_save_webp($0, $1, Encoding.thumbnailQuality, 1) }
        return Facts.Thumbnail(size: size, width: picture.width, height: picture.height)
    }
}

extension Picture {
    fileprivate func thumbhash() throws(Refusal) -> [UInt8] {
        var picture = try within(Thumbhash.largestSide)
        if picture.isGrey { picture = try picture.applying(parley_vips_to_srgb) }
        if !picture.hasAlpha { picture = try picture.applying(parley_vips_with_alpha) }
        return Thumbhash(width: picture.width, height: picture.height, rgba: try picture.pixels()).bytes
    }
}

/// As what a picture is encoded again.
private struct Encoding {
    static let thumbnailQuality: Int32 = 75

    let format: PictureFormat
    private let quality: Int32
    private let subsamples: Bool

    /// Browsers show HEIC nowhere but in Safari, and AVIF not in old ones: both become JPEG, or WebP where something is
    /// transparent.
    init(of format: PictureFormat, _ bytes: UnsafeRawBufferPointer, hasAlpha: Bool, hasFullColor: Bool) {
        switch format {
        case .jpeg, .png, .gif, .webp: self.format = format
        case .heic, .avif: self.format = hasAlpha ? .webp : .jpeg
        }
        quality = Int32(format == .jpeg ? JPEGQuality.estimate(bytes) : JPEGQuality.best)
        subsamples = !hasFullColor
    }

    func save(_ image: UnsafeMutablePointer<VipsImage>, _ target: UnsafeMutablePointer<VipsTarget>) -> Int32 {
        switch format {
        case .png: parley_vips_save_png(image, target)
        case .gif: parley_vips_save_gif(image, target)
        case .webp: parley_vips_save_webp(image, target, quality, 2)
        case .jpeg, .heic, .avif: parley_vips_save_jpeg(image, target, quality, subsamples ? 1 : 0)
        }
    }
}
